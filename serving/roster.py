"""The models of an arena: from settings to running models, and whether they are well."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Self

from serving.credentials import read_key
from serving.health import HealthReport, check_model, report_failure
from serving.limits import LimitedModel
from serving.protocol import BadCredentials, ChatModel, ServingError
from serving.recorded import load_recorded
from serving.sdk import Endpoint
from serving.specs import ModelSpec, SamplingSpec, TimeoutsSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from serving.limits import Backend
    from serving.llamacpp_server import LlamaCppServer
    from serving.vllm_server import VllmServer

__all__ = [
    "HealthReport",
    "ModelSpec",
    "Roster",
    "RosterError",
    "SamplingSpec",
    "TimeoutsSpec",
    "check_model",
    "missing_keys",
]

_CONTEXT_SIZE = 2048
_PARALLEL = 4


class RosterError(ServingError):
    """The models as configured cannot be started; the message has one line a problem."""


def missing_keys(
    specs: Sequence[ModelSpec], environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Enabled models whose key variable is unset or unusable, each with the error in words."""
    values = os.environ if environ is None else environ
    problems: dict[str, str] = {}
    for spec in specs:
        if spec.enabled and spec.api_key_env is not None:
            try:
                read_key(spec.api_key_env, values, model=spec.name)
            except BadCredentials as error:
                problems[spec.name] = str(error)
    return problems


class Roster:
    """All models of an arena, started and stopped together.

    Models that name the same GGUF file share one embedded server, hence one set of weights.
    """

    def __init__(
        self, specs: Sequence[ModelSpec], *, environ: Mapping[str, str] | None = None
    ) -> None:
        """Checks the specs against each other.

        Raises:
            RosterError: two models of one name, or two that share a GGUF file but ask for
                different servers.
        """
        twice = [name for name, times in Counter(spec.name for spec in specs).items() if times > 1]
        if twice:
            names = ", ".join(map(repr, twice))
            raise RosterError(f"more than one model is named {names}; give each its own `name`")
        self._specs = {spec.name: spec for spec in specs if spec.enabled}
        self._environ = os.environ if environ is None else environ
        self._models: dict[str, ChatModel] = {}
        self._failures: dict[str, ServingError] = {}
        self._llamacpp = _plan_llamacpp_servers(tuple(self._specs.values()))
        self._llamacpp_running: dict[Path, LlamaCppServer] = {}
        self._servers: list[LlamaCppServer | VllmServer] = []
        # How a model is reached whose server was started here, by its name.
        self._reach: dict[str, dict[str, object]] = {}

    @property
    def models(self) -> Mapping[str, ChatModel]:
        """The enabled models that were started, by name."""
        return MappingProxyType(self._models)

    @property
    def servers(self) -> tuple[LlamaCppServer | VllmServer, ...]:
        """The servers that were started for them."""
        return tuple(self._servers)

    def spec_elsewhere(self, spec: ModelSpec) -> ModelSpec:
        """The model as another process asks it: at the server that was started for it here."""
        return spec.model_copy(update=self._reach.get(spec.name, {}))

    @property
    def failures(self) -> Mapping[str, ServingError]:
        """Enabled models that could not be started; filled with `keep_going` only."""
        return MappingProxyType(self._failures)

    async def start(self, *, keep_going: bool = False) -> None:
        """Starts every enabled model.

        Args:
            keep_going: leave out models that cannot be started, see `failures`, instead
                of raising.

        Raises:
            RosterError: some model cannot be started; nothing is left running.
        """
        try:
            for spec in self._specs.values():
                try:
                    self._models[spec.name] = await self._start_model(spec)
                except ServingError as error:
                    self._failures[spec.name] = error
        except BaseException:
            await self.aclose()
            raise
        if self._failures and not keep_going:
            lines = "\n".join(str(error) for error in self._failures.values())
            self._failures = {}
            await self.aclose()
            raise RosterError(lines)

    async def aclose(self) -> None:
        """Closes every model, then every server that was started for them."""
        models, self._models = self._models, {}
        servers, self._servers = self._servers, []
        self._llamacpp_running = {}
        # The stack closes in reverse and goes on past one that fails.
        async with AsyncExitStack() as stack:
            for server in servers:
                stack.push_async_callback(server.aclose)
            for model in models.values():
                stack.push_async_callback(model.aclose)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def check(self, name: str) -> HealthReport:
        """Asks a model as a battle does; reports rather than raises what goes wrong.

        Raises:
            KeyError: no enabled model has this name.
        """
        if name in self._specs and name not in self._models:
            failure = self._failures.get(name)
            return report_failure(
                name, failure or RosterError(f"model {name!r} was not started; call start() first")
            )
        return await check_model(self._models[name])

    async def _start_model(self, spec: ModelSpec) -> ChatModel:
        # In a thread, because importing an SDK takes seconds on a busy machine.
        match spec.backend:
            case "recorded":
                return await load_recorded(spec)
            case "openai":
                return await asyncio.to_thread(_ask_openai, self._endpoint(spec), spec)
            case "anthropic":
                return await asyncio.to_thread(_ask_anthropic, self._endpoint(spec), spec)
            case "llamacpp":
                return await self._start_llamacpp(spec)
            case "vllm":
                return await self._start_vllm(spec)

    def _endpoint(self, spec: ModelSpec) -> Endpoint:
        key = None
        if spec.api_key_env is not None:
            key = read_key(spec.api_key_env, self._environ, model=spec.name)
        return Endpoint(
            name=spec.name,
            model=spec.model or spec.name,
            base_url=spec.base_url,
            key=key,
            key_variable=spec.api_key_env,
            connect_timeout=spec.timeouts.connect,
            extra_body=spec.extra_body,
            token_limit=spec.token_limit,
            stream_options=spec.stream_options,
            finish_reasons={word.lower(): end for word, end in spec.finish_reasons.items()},
        )

    async def _start_llamacpp(self, spec: ModelSpec) -> ChatModel:
        if spec.base_url is not None:
            return await asyncio.to_thread(_ask_openai, self._endpoint(spec), spec)
        from serving.llamacpp_server import LlamaCppServer

        plan = self._llamacpp[_weights(spec)]
        server = self._llamacpp_running.get(plan.path)
        if server is None:
            server = LlamaCppServer(
                plan.path,
                context_size=plan.context_size,
                parallel=plan.parallel,
                threads=plan.threads,
            )
            await server.start(patience=spec.timeouts.startup)
            self._llamacpp_running[plan.path] = server
            self._servers.append(server)
        endpoint = replace(
            self._endpoint(spec), model=spec.model or server.model_id, base_url=server.base_url
        )
        self._reach[spec.name] = {
            "base_url": server.base_url, "model": endpoint.model, "path": None,
            "context_size": None, "parallel": None, "threads": None,
        }  # fmt: skip
        return await asyncio.to_thread(_ask_openai, endpoint, spec)

    async def _start_vllm(self, spec: ModelSpec) -> ChatModel:
        endpoint = self._endpoint(spec)
        if spec.base_url is not None:
            return await asyncio.to_thread(_ask_openai, endpoint, spec)
        from serving.vllm_server import VllmServer

        server = VllmServer(
            str(spec.path or spec.model),
            served_name=spec.model or spec.name,
            args=spec.vllm_args,
        )
        await server.start(patience=spec.timeouts.startup)
        self._servers.append(server)
        endpoint = replace(endpoint, base_url=server.base_url, key=None)
        self._reach[spec.name] = {
            "base_url": server.base_url, "model": endpoint.model, "path": None,
            "vllm_args": (), "api_key_env": None,
        }  # fmt: skip
        return await asyncio.to_thread(_ask_openai, endpoint, spec)


def _ask_openai(endpoint: Endpoint, spec: ModelSpec) -> ChatModel:
    from serving.openai_chat import OpenAIBackend

    return _limit(OpenAIBackend(endpoint), spec)


def _ask_anthropic(endpoint: Endpoint, spec: ModelSpec) -> ChatModel:
    from serving.anthropic_chat import AnthropicBackend

    return _limit(AnthropicBackend(endpoint), spec)


def _limit(backend: Backend, spec: ModelSpec) -> LimitedModel:
    return LimitedModel(
        backend,
        card=spec.card,
        limits=spec.limits,
        sampling=spec.sampling.to_sampling(),
        system_prompt=spec.system_prompt,
        system_role=spec.system_role,
        reasoning=spec.reasoning.to_reasoning(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _LlamaCppPlan:
    """The one server of all models that name this file."""

    path: Path
    context_size: int
    parallel: int
    threads: int | None


def _weights(spec: ModelSpec) -> Path:
    if spec.path is None:
        raise RosterError(f"model {spec.name!r} needs `path`, the GGUF file with its weights")
    return spec.path.resolve()


def _plan_llamacpp_servers(specs: Sequence[ModelSpec]) -> dict[Path, _LlamaCppPlan]:
    sharing: dict[Path, list[ModelSpec]] = {}
    for spec in specs:
        if spec.backend == "llamacpp" and spec.base_url is None:
            sharing.setdefault(_weights(spec), []).append(spec)
    return {
        path: _LlamaCppPlan(
            path=path,
            context_size=_agree(users, "context_size") or _CONTEXT_SIZE,
            parallel=_agree(users, "parallel") or _PARALLEL,
            threads=_agree(users, "threads"),
        )
        for path, users in sharing.items()
    }


def _agree(
    users: Sequence[ModelSpec], setting: Literal["context_size", "parallel", "threads"]
) -> int | None:
    """The one value that the users of a server ask for, `None` if none of them does."""
    asked = {spec.name: value for spec in users if (value := getattr(spec, setting)) is not None}
    if len(set(asked.values())) > 1:
        wishes = ", ".join(f"{name!r} asks for {value}" for name, value in asked.items())
        raise RosterError(
            f"models that share {users[0].path} share one server, but about `{setting}` {wishes}; "
            "give them the same value, or set it in one of them only"
        )
    return next(iter(asked.values()), None)
