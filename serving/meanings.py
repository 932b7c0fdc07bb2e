"""What the words of a provider's error mean: one table of patterns, kind by kind.

The patterns are the words of OpenAI, Azure, Anthropic, Gemini, Mistral, Cohere, DeepSeek, xAI,
Groq, Together, OpenRouter, DashScope, Zhipu, Moonshot, MiniMax, Baidu, vLLM, SGLang, TGI,
llama.cpp, Ollama and LM Studio. The first kind that matches holds; where none does, the status
decides.
"""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["Meaning", "find_limit", "find_meaning_of_words", "find_refused_parameter"]

Meaning = Literal["too_long", "quota", "key", "model", "filter", "rate", "overloaded"]

_NUMBER = r"[`'\"]?(?P<limit>\d[\d,_]*)"
_TOO_LONG = (
    rf"maximum context length (?:is|of) {_NUMBER}",
    rf"{_NUMBER} maximum context length",
    rf"maximum prompt length is {_NUMBER}",
    rf"context (?:length|window|size) (?:is only|of only|is|of|limit is|limit of) {_NUMBER}",
    rf"context (?:length|window|size) \(?{_NUMBER}",
    rf"model's context length \({_NUMBER}",
    rf"maximum model length of {_NUMBER}",
    rf"max_model_len[a-z ]*\(?{_NUMBER}",
    rf"prompt is too long: \d[\d,]* tokens > {_NUMBER}",
    rf"exceed context limit: [\d, +]+> {_NUMBER}",
    rf"exceeds the maximum number of tokens allowed \(?{_NUMBER}",
    rf"exceeds? the maximum allowed length \(?{_NUMBER}",
    rf"exceed the configured limit of {_NUMBER}",
    rf"`?inputs`? tokens \+ `?max_new_tokens`? must be <= {_NUMBER}",
    rf"`?inputs`? must have less than {_NUMBER} tokens",
    rf"exceeded model token limit: {_NUMBER}",
    rf"range of input length should be \[\d+, ?{_NUMBER}",
    rf"reached context length of {_NUMBER}",
    r"exceed_context_size_error",
    r"exceeds the available context size",
    r"context_length_exceeded",
    r"context length exceeded",
    r"context window (?:is )?exceed",
    r"exceeds? (?:the |this )?(?:model'?s? )?(?:maximum |max )?context",
    r"prompt (?:is )?too long",
    r"prompt exceeds max",
    r"input (?:is )?too long",
    r"(?:input|prompt|message|messages|conversation|request)s? (?:tokens? )?(?:is|are) too long",
    r"longer than the (?:maximum )?(?:model'?s? )?(?:maximum )?(?:model|context) length",
    r"maximum context length",
    r"longer than the maximum model length",
    r"greater than the context length",
    r"request too large for model",
    r"reduce the length of (?:the|your) (?:input|prompt|messages?)",
    r"too many (?:input |prompt )?tokens: ",
    r"tokens? limit exceeded by",
    r"string too long\. expected a string with maximum length",
    r"request_too_large",
    r"prompt tokens too long",
    r"(?:输入|提示词?|上下文|prompt|请求|对话|消息|内容)[^。,,]{0,20}?(?:过长|超长|太长|超过|超出)",
)
_QUOTA = (
    r"insufficient[_ ](?:quota|balance|credits?|funds?|user quota)",
    r"(?:account|credit|token)s? balance (?:is )?(?:too low|not enough|insufficient|exhausted)",
    r"exceeded_current_quota",
    r"billing[_ ](?:hard[_ ]limit|not[_ ]active|quota|error)",
    r"payment required",
    r"(?:out of|no|requires more|need more|not enough) credits?",
    r"quota (?:is |has been )?(?:used up|exhausted|exceeded for the day)",
    r"spend(?:ing)? limit",
    r"monthly limit",
    r"budget (?:has been )?exceeded",
    r"usage limits?\b",
    r"arrear",
    r"allocationquota",
    r"freetieronly",
    r"free (?:quota|tier) (?:of the model )?(?:has been |is )?exhausted",
    r"account (?:is |has been )?(?:suspended|overdue|in arrears)",
    r"perday",
    r"欠费",
    r"余额不足",
    r"充值",
    r"额度(?:已)?(?:用尽|用完|不足|耗尽)",
    r"资源包",
    r"账户已停用",
    r"账号已停用",
)
_RATE = (
    r"rate.?limit",
    r"too many requests",
    r"requests? per (?:minute|second|day)",
    r"tokens? per (?:min|minute|day)",
    r"throttl",
    r"resource_exhausted",
    r"quota exceeded for",
    r"concurrency",
    r"slow down",
    r"try again in [\d.]+ ?m?s",
    r"速率",
    r"频率",
    r"限流",
    r"请求过于频繁",
    r"请求过多",
    r"并发",
    r"稍后再试",
    r"请稍后重试",
)
_KEY = (
    (
        r"(?:invalid|incorrect|wrong|missing|no|expired|revoked|malformed)[_ -](?:x-)?"
        r"(?:api|auth\w*|access|bearer|virtual)?[_ -]?"
        r"(?:key|token|authentication|credentials?|authorization)\b"
    ),
    r"api[_ -]?key (?:is )?(?:not valid|invalid|not found|missing|required|expired|revoked)",
    r"api_key_invalid",
    r"unauthori[sz]ed",
    r"unauthenticated",
    r"authentication[_ ](?:error|fail|required)",
    r"not authenticated",
    r"invalidapikey",
    r"login fail",
    r"access denied",
    r"permission[_ ]denied",
    r"no auth credentials",
    r"forbidden",
    r"api ?key ?(?:无效|错误|不正确|已过期|不存在)",
    r"(?:令牌|密钥)[^。]{0,8}(?:无效|不正确|过期|错误|验证)",
    r"身份验证失败",
    r"鉴权失败",
    r"认证失败",
    r"未授权",
    r"无权",
)
_MODEL = (
    r"model[_ ]not[_ ](?:found|exist|supported)",
    r"modelnotfound",
    r"deploymentnotfound",
    (
        r"(?:model|deployment)\b.{0,120}?(?:not exist|not found|is not available|"
        r"not supported for|has been (?:deprecated|decommissioned|retired)|is not a valid)"
    ),
    r"(?:no such|unknown|invalid|unrecognized|unsupported) (?:model|deployment)\b",
    r"is not a valid model",
    r"try pulling it first",
    r"no endpoints found",
    r"no model (?:named|loaded)",
    r"no models loaded",
    r"模型[^。]{0,20}(?:不存在|未找到|未开通|已下线|不可用)",
    r"不支持(?:该|此)?模型",
)
_FILTER = (
    r"content[_ ]?(?:filter|policy|management policy|exists risk)",
    r"responsibleaipolicy",
    r"usage polic",
    r"data_?inspection_?failed",
    r"inappropriate content",
    r"flagged (?:as|by|for)",
    r"moderation",
    r"safety system",
    r"prohibited_content",
    r"blocked (?:by|due)",
    r"considered high risk",
    r"unsafe",
    r"不安全",
    r"敏感内容",
    r"敏感信息",
    r"违规",
    r"违反",
    r"不合规",
    r"内容安全",
    r"风险内容",
)
_OVERLOADED = (
    r"overloaded",
    r"server (?:is )?busy",
    r"no available (?:server|channel|worker)",
    r"at capacity",
    r"服务器繁忙",
    r"系统繁忙",
    r"过载",
)
_PARTS: dict[Meaning, tuple[str, ...]] = {
    "too_long": _TOO_LONG,
    "quota": _QUOTA,
    "filter": _FILTER,
    "model": _MODEL,
    "key": _KEY,
    "rate": _RATE,
    "overloaded": _OVERLOADED,
}
_TABLE: dict[Meaning, re.Pattern[str]] = {
    meaning: re.compile(
        "|".join(f"(?:{part.replace('?P<limit>', '?:')})" for part in parts), re.IGNORECASE
    )
    for meaning, parts in _PARTS.items()
}
_LIMITS = tuple(re.compile(part, re.IGNORECASE) for part in _TOO_LONG if "<limit>" in part)
_NOT_TAKEN = re.compile(
    r"unsupported|not (?:be )?support|unrecogni[sz]ed|unexpected|unknown|not (?:permitted|allowed)"
    r"|invalid|only|deprecated|extra|must be|cannot|can't|may not|does not|doesn't|use '"
    r"|不支持|无效|仅",
    re.IGNORECASE,
)


def find_meaning_of_words(words: str) -> Meaning | None:
    """What an error is about, `None` where its words do not tell."""
    return next((meaning for meaning, pattern in _TABLE.items() if pattern.search(words)), None)


def find_limit(words: str) -> int | None:
    """The tokens that would fit, where words about a conversation too long name them."""
    found = next((match for pattern in _LIMITS if (match := pattern.search(words))), None)
    return None if found is None else int(re.sub(r"\D", "", found["limit"]))


def find_refused_parameter(
    words: str, asked: tuple[str, ...], *, parameter: str = ""
) -> str | None:
    """Which of the fields that were sent an error is about.

    Args:
        words: the provider's.
        asked: names of the fields.
        parameter: the field that the provider names apart from its words.
    """
    if parameter in asked:
        return parameter
    if not _NOT_TAKEN.search(words):
        return None
    return next(
        (name for name in asked if re.search(rf"(?<![\w]){name}(?![\w])", words, re.IGNORECASE)),
        None,
    )
