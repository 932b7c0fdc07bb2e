CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE assignments (
    id INTEGER NOT NULL,
    name VARCHAR(200) NOT NULL,
    "plan" JSON NOT NULL,
    created_at DATETIME NOT NULL,
    CONSTRAINT pk_assignments PRIMARY KEY (id),
    CONSTRAINT uq_assignments_name UNIQUE (name)
);
CREATE TABLE models (
    name VARCHAR(200) NOT NULL,
    organisation VARCHAR(200) NOT NULL,
    license VARCHAR(200) NOT NULL,
    price_input FLOAT,
    price_output FLOAT,
    description TEXT NOT NULL,
    updated_at DATETIME NOT NULL,
    CONSTRAINT pk_models PRIMARY KEY (name)
);
CREATE TABLE snapshots (
    id INTEGER NOT NULL,
    created_at DATETIME NOT NULL,
    votes INTEGER NOT NULL,
    last_vote_id INTEGER NOT NULL,
    code_version VARCHAR(32) NOT NULL,
    settings JSON NOT NULL,
    board JSON NOT NULL,
    CONSTRAINT pk_snapshots PRIMARY KEY (id)
);
CREATE TABLE voters (
    id VARCHAR(64) NOT NULL,
    kind VARCHAR(16) NOT NULL,
    created_at DATETIME NOT NULL,
    CONSTRAINT pk_voters PRIMARY KEY (id),
    CONSTRAINT ck_voters_kind CHECK (kind IN ('crowd', 'expert', 'judge', 'program'))
);
CREATE TABLE workers (
    id VARCHAR(64) NOT NULL,
    host VARCHAR(255) NOT NULL,
    pid INTEGER NOT NULL,
    started_at DATETIME NOT NULL,
    heartbeat_at DATETIME NOT NULL,
    stopped_at DATETIME,
    CONSTRAINT pk_workers PRIMARY KEY (id)
);
CREATE TABLE battles (
    id VARCHAR(64) NOT NULL,
    voter_id VARCHAR(64) NOT NULL,
    model_a VARCHAR(200) NOT NULL,
    model_b VARCHAR(200) NOT NULL,
    policy VARCHAR(32) NOT NULL,
    policy_version INTEGER NOT NULL,
    probability FLOAT NOT NULL,
    candidates INTEGER NOT NULL,
    category VARCHAR(32),
    language VARCHAR(16),
    status VARCHAR(16) NOT NULL,
    worker_id VARCHAR(64),
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    CONSTRAINT pk_battles PRIMARY KEY (id),
    CONSTRAINT ck_battles_status CHECK (status IN ('answering', 'ready', 'failed', 'abandoned', 'voted')),
    CONSTRAINT ck_battles_two_models CHECK (model_a <> model_b),
    CONSTRAINT ck_battles_probability CHECK (probability > 0 AND probability <= 1),
    CONSTRAINT fk_battles_model_a_models FOREIGN KEY(model_a) REFERENCES models (name),
    CONSTRAINT fk_battles_model_b_models FOREIGN KEY(model_b) REFERENCES models (name),
    CONSTRAINT fk_battles_voter_id_voters FOREIGN KEY(voter_id) REFERENCES voters (id),
    CONSTRAINT fk_battles_worker_id_workers FOREIGN KEY(worker_id) REFERENCES workers (id)
);
CREATE INDEX ix_battles_status_worker_id ON battles (status, worker_id);
CREATE INDEX ix_battles_voter_id_created_at ON battles (voter_id, created_at);
CREATE TABLE experts (
    voter_id VARCHAR(64) NOT NULL,
    name VARCHAR(200) NOT NULL,
    link_id VARCHAR(64) NOT NULL,
    created_at DATETIME NOT NULL,
    expires_at DATETIME NOT NULL,
    revoked_at DATETIME,
    CONSTRAINT pk_experts PRIMARY KEY (voter_id),
    CONSTRAINT fk_experts_voter_id_voters FOREIGN KEY(voter_id) REFERENCES voters (id),
    CONSTRAINT uq_experts_name UNIQUE (name)
);
CREATE TABLE judges (
    voter_id VARCHAR(64) NOT NULL,
    name VARCHAR(300) NOT NULL,
    model VARCHAR(200) NOT NULL,
    mode VARCHAR(16) NOT NULL,
    prompts_hash VARCHAR(64) NOT NULL,
    sampling JSON NOT NULL,
    created_at DATETIME NOT NULL,
    CONSTRAINT pk_judges PRIMARY KEY (voter_id),
    CONSTRAINT ck_judges_mode CHECK (mode IN ('plain', 'answer-first', 'reference')),
    CONSTRAINT fk_judges_voter_id_voters FOREIGN KEY(voter_id) REFERENCES voters (id),
    CONSTRAINT uq_judges_name UNIQUE (name)
);
CREATE TABLE assignment_items (
    id INTEGER NOT NULL,
    assignment_id INTEGER NOT NULL,
    battle_id VARCHAR(64) NOT NULL,
    position INTEGER NOT NULL,
    CONSTRAINT pk_assignment_items PRIMARY KEY (id),
    CONSTRAINT fk_assignment_items_assignment_id_assignments FOREIGN KEY(assignment_id) REFERENCES assignments (id),
    CONSTRAINT fk_assignment_items_battle_id_battles FOREIGN KEY(battle_id) REFERENCES battles (id),
    CONSTRAINT uq_assignment_items_assignment_id_battle_id UNIQUE (assignment_id, battle_id),
    CONSTRAINT uq_assignment_items_assignment_id_position UNIQUE (assignment_id, position)
);
CREATE INDEX ix_assignment_items_battle_id ON assignment_items (battle_id);
CREATE TABLE turns (
    battle_id VARCHAR(64) NOT NULL,
    turn INTEGER NOT NULL,
    prompt TEXT NOT NULL,
    reference TEXT,
    created_at DATETIME NOT NULL,
    CONSTRAINT pk_turns PRIMARY KEY (battle_id, turn),
    CONSTRAINT fk_turns_battle_id_battles FOREIGN KEY(battle_id) REFERENCES battles (id)
);
CREATE TABLE votes (
    id INTEGER NOT NULL,
    battle_id VARCHAR(64) NOT NULL,
    voter_id VARCHAR(64) NOT NULL,
    outcome VARCHAR(16) NOT NULL,
    created_at DATETIME NOT NULL,
    retracted_at DATETIME,
    CONSTRAINT pk_votes PRIMARY KEY (id),
    CONSTRAINT ck_votes_outcome CHECK (outcome IN ('model_a', 'model_b', 'tie', 'tie (bothbad)')),
    CONSTRAINT fk_votes_battle_id_battles FOREIGN KEY(battle_id) REFERENCES battles (id),
    CONSTRAINT fk_votes_voter_id_voters FOREIGN KEY(voter_id) REFERENCES voters (id),
    CONSTRAINT uq_votes_battle_id_voter_id UNIQUE (battle_id, voter_id)
);
CREATE INDEX ix_votes_retracted_at ON votes (retracted_at) WHERE retracted_at IS NOT NULL;
CREATE INDEX ix_votes_voter_id ON votes (voter_id);
CREATE TABLE assignment_tasks (
    id INTEGER NOT NULL,
    item_id INTEGER NOT NULL,
    voter_id VARCHAR(64) NOT NULL,
    position INTEGER NOT NULL,
    swapped BOOLEAN NOT NULL,
    arm VARCHAR(16) NOT NULL,
    shown_outcome VARCHAR(16),
    first_shown_at DATETIME,
    CONSTRAINT pk_assignment_tasks PRIMARY KEY (id),
    CONSTRAINT ck_assignment_tasks_shown CHECK ((arm = 'blind') = (shown_outcome IS NULL)),
    CONSTRAINT ck_assignment_tasks_arm CHECK (arm IN ('blind', 'shown', 'planted')),
    CONSTRAINT ck_assignment_tasks_shown_outcome CHECK (shown_outcome IN ('model_a', 'model_b', 'tie', 'tie (bothbad)')),
    CONSTRAINT fk_assignment_tasks_item_id_assignment_items FOREIGN KEY(item_id) REFERENCES assignment_items (id),
    CONSTRAINT fk_assignment_tasks_voter_id_experts FOREIGN KEY(voter_id) REFERENCES experts (voter_id),
    CONSTRAINT uq_assignment_tasks_item_id_voter_id UNIQUE (item_id, voter_id)
);
CREATE INDEX ix_assignment_tasks_voter_id ON assignment_tasks (voter_id);
CREATE TABLE exclusions (
    id INTEGER NOT NULL,
    vote_id INTEGER NOT NULL,
    reason VARCHAR(32) NOT NULL,
    note TEXT NOT NULL,
    created_at DATETIME NOT NULL,
    CONSTRAINT pk_exclusions PRIMARY KEY (id),
    CONSTRAINT ck_exclusions_reason CHECK (reason IN ('identity_revealed', 'maintainer')),
    CONSTRAINT fk_exclusions_vote_id_votes FOREIGN KEY(vote_id) REFERENCES votes (id),
    CONSTRAINT uq_exclusions_vote_id_reason UNIQUE (vote_id, reason)
);
CREATE TABLE judge_calls (
    id INTEGER NOT NULL,
    voter_id VARCHAR(64) NOT NULL,
    battle_id VARCHAR(64) NOT NULL,
    turn INTEGER NOT NULL,
    swapped BOOLEAN NOT NULL,
    status VARCHAR(16) NOT NULL,
    verdict VARCHAR(16),
    reading VARCHAR(16),
    failure_kind VARCHAR(64),
    failure_message TEXT,
    request JSON NOT NULL,
    output TEXT NOT NULL,
    reasoning TEXT NOT NULL,
    finish_reason VARCHAR(32),
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    cost FLOAT,
    duration FLOAT,
    attempts INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    worker_id VARCHAR(64),
    asked_at DATETIME NOT NULL,
    answered_at DATETIME,
    CONSTRAINT pk_judge_calls PRIMARY KEY (id),
    CONSTRAINT ck_judge_calls_reading CHECK (reading IN ('structured', 'fallback', 'unparsable')),
    CONSTRAINT ck_judge_calls_status CHECK (status IN ('asked', 'answered', 'failed')),
    CONSTRAINT ck_judge_calls_verdict CHECK (verdict IN ('model_a', 'model_b', 'tie', 'tie (bothbad)')),
    CONSTRAINT fk_judge_calls_battle_id_turn_turns FOREIGN KEY(battle_id, turn) REFERENCES turns (battle_id, turn),
    CONSTRAINT fk_judge_calls_voter_id_judges FOREIGN KEY(voter_id) REFERENCES judges (voter_id),
    CONSTRAINT fk_judge_calls_worker_id_workers FOREIGN KEY(worker_id) REFERENCES workers (id),
    CONSTRAINT uq_judge_calls_voter_id_battle_id_turn_swapped UNIQUE (voter_id, battle_id, turn, swapped)
);
CREATE INDEX ix_judge_calls_battle_id ON judge_calls (battle_id);
CREATE TABLE responses (
    id INTEGER NOT NULL,
    battle_id VARCHAR(64) NOT NULL,
    turn INTEGER NOT NULL,
    side VARCHAR(1) NOT NULL,
    attempt INTEGER NOT NULL,
    status VARCHAR(16) NOT NULL,
    text TEXT NOT NULL,
    reasoning TEXT NOT NULL,
    finish_reason VARCHAR(32),
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    time_to_first_token FLOAT,
    duration FLOAT,
    model_id VARCHAR(300),
    error_kind VARCHAR(64),
    error_message TEXT,
    created_at DATETIME NOT NULL,
    CONSTRAINT pk_responses PRIMARY KEY (id),
    CONSTRAINT ck_responses_side CHECK (side IN ('a', 'b')),
    CONSTRAINT ck_responses_status CHECK (status IN ('complete', 'failed', 'cancelled')),
    CONSTRAINT fk_responses_battle_id_turn_turns FOREIGN KEY(battle_id, turn) REFERENCES turns (battle_id, turn),
    CONSTRAINT uq_responses_battle_id_turn_side_attempt UNIQUE (battle_id, turn, side, attempt)
);
CREATE INDEX ix_responses_created_at ON responses (created_at);
CREATE TABLE judgements (
    id INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    outcome VARCHAR(16),
    cannot_judge VARCHAR(16),
    reasons JSON NOT NULL,
    comment TEXT NOT NULL,
    seconds FLOAT,
    created_at DATETIME NOT NULL,
    retracted_at DATETIME,
    CONSTRAINT pk_judgements PRIMARY KEY (id),
    CONSTRAINT ck_judgements_cannot_judge CHECK (cannot_judge IN ('subject', 'language', 'display', 'content', 'other')),
    CONSTRAINT ck_judgements_outcome CHECK (outcome IN ('model_a', 'model_b', 'tie', 'tie (bothbad)')),
    CONSTRAINT ck_judgements_said CHECK ((outcome IS NULL) <> (cannot_judge IS NULL)),
    CONSTRAINT fk_judgements_task_id_assignment_tasks FOREIGN KEY(task_id) REFERENCES assignment_tasks (id)
);
CREATE UNIQUE INDEX ix_judgements_task_id ON judgements (task_id) WHERE retracted_at IS NULL;
INSERT INTO alembic_version (version_num) VALUES ('r1') RETURNING version_num;
