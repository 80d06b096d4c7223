/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
/** What a chain spent a part of its time with. */
export type ChainSegmentKind =
  /** Between a failed attempt and its retry, or until that was given up. */
  | 'BACKOFF'
  /** Its kernels were being stopped. */
  | 'ENDING'
  /** A retry that was due was held: see `holdReason`. */
  | 'HELD'
  /** The retry to come. It is no part of the time so far. */
  | 'PLANNED'
  /** Its kernels were being prepared and started. */
  | 'PREPARING'
  /** An attempt waited to be placed on an agent. */
  | 'QUEUED'
  /** The chain had ended; a person resubmitted it. */
  | 'RESUBMISSION_GAP'
  /** Its program ran. */
  | 'RUNNING';

/** State of a chain. The last three are final unless it is resubmitted. */
export type ChainState =
  /** A person terminated its newest attempt before it produced a result. */
  | 'CANCELLED'
  /** Its newest attempt failed, and no retry follows. */
  | 'FAILED'
  /** Its newest attempt failed; a retry is due but held. */
  | 'HELD'
  /** Its newest attempt is in progress, or has ended and is not yet decided about. */
  | 'LIVE'
  /** Its newest attempt succeeded. */
  | 'SUCCEEDED'
  /** Its newest attempt failed; a retry is waiting for its delay to pass. */
  | 'WAITING_RETRY';

/** How the kernels of a session are spread. */
export type ClusterMode =
  /** On as many agents as needed. */
  | 'MULTI_NODE'
  /** All on one agent. */
  | 'SINGLE_NODE';

/** One variable of the environment. */
export type EnvVarInput = {
  /** Its name. */
  name: string;
  /** Its value. */
  value: string;
};

/** Why a session failed, as classified. */
export type FailureCause =
  /** Its agent was lost or restarted while it ran. */
  | 'AGENT_TRANSIENT'
  /** Its image could not be fetched. */
  | 'IMAGE_PULL_FAILURE'
  /** User code exited with a code other than 0, or ran into the batch timeout. */
  | 'KERNEL_NONZERO_EXIT'
  /** It used more memory than its slot allows, and was killed. */
  | 'OOM_KILLED'
  /** A quota forbade it. Never retried. */
  | 'QUOTA_EXCEEDED'
  /** The scheduler could not start it in time. */
  | 'SCHEDULER_TIMEOUT'
  /** Any other cause. */
  | 'UNKNOWN'
  /** A person terminated it. Never retried. */
  | 'USER_CANCELLED'
  /** It could never have run as specified. Never retried. */
  | 'VALIDATION_ERROR';

/** Why a due retry is held. */
export type HoldReason =
  /** Retries are switched off here. */
  | 'DISABLED'
  /** The failed attempt may still run on a silent agent. */
  | 'PARENT_ALIVE'
  /** The limit of pending sessions is reached. */
  | 'QUOTA'
  /** The rate limit of retries is reached. */
  | 'RATE_LIMITED';

/** Status of a kernel, as for sessions. An agent may be ahead of the scheduler. */
export type KernelStatus =
  /** Ended before it was assigned to an agent. */
  | 'CANCELLED'
  /** Its agent starts it. */
  | 'CREATING'
  /** Ended: it failed. */
  | 'ERROR'
  /** Waits for an agent. */
  | 'PENDING'
  /** Ready to be created. */
  | 'PREPARED'
  /** Its agent prepares it. */
  | 'PREPARING'
  /** Its agent fetches the image. */
  | 'PULLING'
  /** User code runs. */
  | 'RUNNING'
  /** Its agent is chosen. */
  | 'SCHEDULED'
  /** Ended: user code exited, or was stopped. */
  | 'TERMINATED'
  /** It is being stopped. */
  | 'TERMINATING';

/** Output stream of a process. */
export type LogStream =
  /** Its standard error. */
  | 'STDERR'
  /** Its standard output. */
  | 'STDOUT';

/** An amount of one resource, per kernel. */
export type ResourceSlotInput = {
  /** How much, as a decimal: `0.5`, `2`; bytes take k, m, g, t (binary): `2g`. */
  amount: string;
  /** Which: `cpu`, `mem`, `cuda.device`, … */
  slot: string;
};

/** How the new attempts differ from the failed sessions. Overrides also apply to the automatic retries of the new epoch. */
export type ResubmissionOverrides = {
  /** The only agents to run on; replaces the existing list. An empty list removes the restriction. */
  allowAgents?: Array<string> | null | undefined;
  /** Agents to avoid if another fits; replaces those that retries have come to avoid. */
  avoidAgents?: Array<string> | null | undefined;
  /** Batch timeout in seconds; null removes it. */
  batchTimeout?: number | null | undefined;
  /** Variables by name; other variables stay. */
  environ?: Array<EnvVarInput> | null | undefined;
  /** Agents that must not run it; replaces those that retries have come to exclude. An empty list removes the restriction. */
  excludeAgents?: Array<string> | null | undefined;
  /** 0 to 100; the higher goes first. */
  priority?: number | null | undefined;
  /** Name of the resource group to run in. */
  resourceGroup?: string | null | undefined;
  /** Amounts by slot; other slots stay. 0 removes a slot. */
  resourceSlots?: Array<ResourceSlotInput> | null | undefined;
  /** Fields of the retry policy; missing fields stay as resolved. */
  retryPolicy?: RetryPolicyInput | null | undefined;
  /** Secret variables by name; other variables stay. A variable of either kind replaces one of the other. */
  secretEnviron?: Array<EnvVarInput> | null | undefined;
};

/** What the retry avoids: it is used all the same if there is no other. */
export type RetryAvoidance =
  /** The agents on which the attempt failed. */
  | 'AGENT'
  /** The resource group in which the attempt failed. */
  | 'RESOURCE_GROUP';

/** How delays grow from retry to retry. */
export type RetryBackoff =
  /** Delays grow by `backoffMultiplier` each time, up to `maxRetryDelay`. */
  | 'EXPONENTIAL'
  /** All delays are the same. */
  | 'FIXED';

/** What the retry excludes: it waits rather than go there. */
export type RetryExclusion =
  /** The agents on which the attempt failed. */
  | 'AGENT';

/** How delays are spread, so that sessions that failed together do not return together. */
export type RetryJitter =
  /** The whole delay at random, from `retryDelay` to three times the delay before; `backoff` has no effect. */
  | 'DECORRELATED'
  /** By a hash of the session: the same session always has the same delay. */
  | 'DETERMINISTIC'
  /** The whole delay at random, from 0 to what it would be without jitter. */
  | 'FULL'
  /** Not at all. */
  | 'NONE'
  /** At random. */
  | 'RANDOM';

/** Phase of a session's retry. */
export type RetryPhase =
  /** A person cancelled the retry. */
  | 'CANCELLED'
  /** The child session exists. */
  | 'DISPATCHED'
  /** It failed, and all its retries are used up. */
  | 'EXHAUSTED'
  /** A retry is due but held. */
  | 'HELD'
  /** It has no retries. */
  | 'NONE'
  /** It failed in a way that is not retried. */
  | 'NOT_ELIGIBLE'
  /** A retry will be dispatched when its delay is over. */
  | 'SCHEDULED'
  /** It succeeded, so there is nothing to retry. */
  | 'SUCCEEDED'
  /** The session has not ended, or the decision is about to be made. */
  | 'UNDECIDED';

/** How a session is retried. Durations are seconds. Missing fields come from the defaults of project, domain and cluster, in this order. */
export type RetryPolicyInput = {
  /** How delays grow. */
  backoff?: RetryBackoff | null | undefined;
  /** Factor by which delays grow, if they do; more than 0. */
  backoffMultiplier?: number | null | undefined;
  /** False: an attempt that failed before user code started does not use up `maxRetries`. */
  countPreStartFailures?: boolean | null | undefined;
  /** Failures that are retried. */
  eligibleCauses?: Array<FailureCause> | null | undefined;
  /** False: no retry events. Decisions are stored all the same. */
  emitRetryEvents?: boolean | null | undefined;
  /** How delays are spread. */
  jitter?: RetryJitter | null | undefined;
  /** Maximum jitter of DETERMINISTIC and RANDOM as a share of the delay, 0 to 1. */
  jitterRatio?: number | null | undefined;
  /** No retry starts later than this after the first attempt was created. Null means no limit. */
  maxElapsed?: number | null | undefined;
  /** 0 to 100. Total attempts are one more. 0 means no retries, whatever the defaults say. */
  maxRetries?: number | null | undefined;
  /** Longest delay. Null means the absolute ceiling, 86400. */
  maxRetryDelay?: number | null | undefined;
  /** 0 to 100: limit on retries that do not use up `maxRetries`. */
  maxUncountedRetries?: number | null | undefined;
  /** Supplies the fields that are missing here. The fields are stored, not the preset's name. */
  preset?: RetryPolicyPreset | null | undefined;
  /** The first delay, more than 0. */
  retryDelay?: number | null | undefined;
  /** At most 20, in order; the first that matches decides. */
  rules?: Array<RetryRuleInput> | null | undefined;
  /** True: what a program asks for in its verdict file is followed. */
  trustVerdicts?: boolean | null | undefined;
};

/** Policies to start from. */
export type RetryPolicyPreset =
  /** Ten attempts, 900 s apart, of the exit codes that CMS grid jobs recover from, with more memory, more time or in another resource group where that helps; every other exit code is final. */
  | 'CMS_EXIT_CODES';

/** What a matching rule does. */
export type RetryRuleAction =
  /** Does not retry. */
  | 'FAIL'
  /** Retries, whatever `eligibleCauses` says. */
  | 'RETRY'
  /** Retries without using up `maxRetries`. */
  | 'RETRY_UNCOUNTED';

/** What to do about failures of one kind. */
export type RetryRuleInput = {
  /** What to do. */
  action: RetryRuleAction;
  /** What the retry avoids, as long as there is another place. */
  avoid?: RetryAvoidance | null | undefined;
  /** Base delay in seconds, in place of the formula's. */
  delay?: number | null | undefined;
  /** What the retry excludes, even if it has to wait. */
  exclude?: RetryExclusion | null | undefined;
  /** Which failures. */
  match: RetryRuleMatchInput;
  /** Slots that grow. */
  scaleResources?: Array<RetrySlotGrowthInput> | null | undefined;
  /** Growth of the batch timeout. */
  scaleTimeout?: RetryTimeoutGrowthInput | null | undefined;
};

/** Conditions of a rule. All given conditions must match. */
export type RetryRuleMatchInput = {
  /** One of these causes. */
  causes?: Array<FailureCause> | null | undefined;
  /** One of these exit codes. */
  exitCodes?: Array<number | string> | null | undefined;
  /** An exit code, but none of these. */
  exitCodesNotIn?: Array<number | string> | null | undefined;
  /** A reason like this, with `*` and `?`. */
  reason?: string | null | undefined;
};

/** How a slot grows from attempt to attempt. It never shrinks. */
export type RetrySlotGrowthInput = {
  /** The factor. */
  factor: number;
  /** Upper limit; bytes take k, m, g, t. */
  max?: string | null | undefined;
  /** Which slot. */
  slot: string;
};

/** How the batch timeout grows from attempt to attempt. It never shrinks. */
export type RetryTimeoutGrowthInput = {
  /** The factor. */
  factor: number;
  /** Upper limit, in seconds. */
  max?: number | null | undefined;
};

/** How one try of a handler was judged. */
export type SchedulingResult =
  /** It was in its status for longer than its resource group allows. */
  | 'EXPIRED'
  /** It failed; another path follows. */
  | 'FAILURE'
  /** It failed too often. */
  | 'GIVE_UP'
  /** It failed and is tried again. */
  | 'NEED_RETRY'
  /** It was skipped: `message` says what it waits for. */
  | 'SKIPPED'
  /** The information about it was too old. */
  | 'STALE'
  /** It succeeded. */
  | 'SUCCESS';

/** What a person can do with a session. */
export type SessionAction =
  /** `cancelRetry`. */
  | 'CANCEL_RETRY'
  /** `resubmitSessions`, without overrides. */
  | 'RESUBMIT'
  /** `retryNow`. */
  | 'RETRY_NOW'
  /** `terminateSession`. */
  | 'TERMINATE';

/** Why a session exists. */
export type SessionOrigin =
  /** A retry policy created it after its parent failed. */
  | 'AUTO_RETRY'
  /** A client created it. */
  | 'INITIAL'
  /** A person resubmitted its parent. */
  | 'RESUBMISSION';

/** Result of a session. */
export type SessionResult =
  /** It failed; `failureCause` says why. */
  | 'FAILURE'
  /** Its main kernel ended by itself with exit code 0. */
  | 'SUCCESS'
  /** Not known: it has not ended, or a person terminated it. */
  | 'UNDEFINED';

/** Status of a session. TERMINATED, ERROR and CANCELLED are final. */
export type SessionStatus =
  /** Ended before it started. */
  | 'CANCELLED'
  /** Agents start its kernels. */
  | 'CREATING'
  /** Ended: it failed. */
  | 'ERROR'
  /** Waits to be placed on agents. */
  | 'PENDING'
  /** All kernels are ready to be created. */
  | 'PREPARED'
  /** Agents prepare its kernels. */
  | 'PREPARING'
  /** An agent fetches the image. */
  | 'PULLING'
  /** User code runs. */
  | 'RUNNING'
  /** Agents are chosen, their resources reserved. */
  | 'SCHEDULED'
  /** Ended: it succeeded, or a person terminated it. */
  | 'TERMINATED'
  /** Its kernels are being stopped, or have ended. */
  | 'TERMINATING';

/** What a session is for. */
export type SessionType =
  /** Runs a command to its end. The only type that is retried. */
  | 'BATCH'
  /** One replica of a deployment. */
  | 'INFERENCE'
  /** Serves a person until it is terminated. */
  | 'INTERACTIVE';

export type UiChainQueryVariables = Exact<{
  chainId: string;
}>;


export type UiChainQuery = { now: string, eventCursor: string, chain: { id: string, chainId: string, name: string, state: ChainState, createdAt: string, endedAt: string | null, attempts: number, runningSeconds: number, waitingSeconds: number, labels: Array<{ key: string, value: string }>, project: { id: string, name: string }, outlook: { willRetry: boolean, at: string | null, reason: string }, actions: Array<{ action: SessionAction, allowed: boolean, reason: string | null }>, epochs: Array<{ epoch: number, at: string, attempt: number, by: string | null, overrides: Array<{ field: string, before: string | null, value: string | null }> }>, firstAttempt: { id: string, createdBy: string | null, user: string | null }, newestAttempt: { id: string, sessionId: string, attempt: number, status: SessionStatus, resourceGroup: { id: string, name: string }, retryState: { label: string, attempt: number, maxAttempts: number, phase: RetryPhase } }, timeline: UiSegmentsFragment } | null };

export type UiEarlierTimelineQueryVariables = Exact<{
  chainId: string;
  before: string;
}>;


export type UiEarlierTimelineQuery = { chain: { id: string, timeline: UiSegmentsFragment } | null };

export type UiSegmentsFragment = { edges: Array<{ cursor: string, node: { kind: ChainSegmentKind, from: string, to: string | null, attempt: number, epoch: number, cause: FailureCause | null, holdReason: HoldReason | null, reason: string | null, session: { id: string, sessionId: string, status: SessionStatus, result: SessionResult, exitCode: number | null } | null } }>, pageInfo: { hasPreviousPage: boolean, startCursor: string | null } };

export type UiAttemptQueryVariables = Exact<{
  sessionId: string;
}>;


export type UiAttemptQuery = { now: string, session: { id: string, sessionId: string, chainId: string, attempt: number, epoch: number, status: SessionStatus, result: SessionResult, origin: SessionOrigin, statusReason: string | null, pendingReason: string | null, failureCause: FailureCause | null, exitCode: number | null, createdAt: string, startedAt: string | null, terminatedAt: string | null, terminatedBy: string | null, reschedules: number, clusterSize: number, durations: { queued: number, preparing: number, running: number, ending: number }, resourceSlots: Array<{ slot: string, amount: string }>, parentSession: { id: string, sessionId: string, retryDecision: UiDecisionFragment | null } | null, retryDecision: UiDecisionFragment | null, kernels: Array<{ id: string, kernelId: string, role: string, index: number, status: KernelStatus, exitCode: number | null, oomKilled: boolean, reason: string | null, startedAt: string | null, terminatedAt: string | null, logBytes: number, logTruncated: boolean, agent: { id: string, agentId: string, name: string } | null }> } | null };

export type UiDecisionFragment = { phase: RetryPhase, cause: FailureCause | null, counted: boolean, matchedRule: number | null, decidedAt: string, dueAt: string | null, dispatchedAt: string | null, baseDelaySeconds: number | null, jitterSeconds: number | null, delaySeconds: number | null, explanation: string, holdReason: HoldReason | null, heldSince: string | null, holds: Array<{ from: string, to: string | null, holdReason: HoldReason, reason: string }> };

export type UiChangesQueryVariables = Exact<{
  chainId: string;
}>;


export type UiChangesQuery = { chain: { id: string, changes: { edges: Array<{ node: { attempt: number, differences: Array<{ field: string, before: string | null, after: string | null }> } }> } } | null };

export type UiScheduleQueryVariables = Exact<{
  sessionId: string;
  cause?: FailureCause | null | undefined;
}>;


export type UiScheduleQuery = { retryPolicyPreview: { eligible: boolean, explanation: string, schedule: Array<{ retry: number, delaySeconds: number, earliestSeconds: number, latestSeconds: number }> } };

export type UiHistoryQueryVariables = Exact<{
  sessionId: string;
  after?: string | null | undefined;
}>;


export type UiHistoryQuery = { session: { id: string, schedulingHistory: { edges: Array<{ node: { phase: string, fromStatus: string | null, toStatus: string | null, result: SchedulingResult, message: string | null, errorCode: string | null, attempts: number, firstAt: string, lastAt: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type UiSpecQueryVariables = Exact<{
  sessionId: string;
}>;


export type UiSpecQuery = { session: { id: string, sessionId: string, name: string, sessionType: SessionType, command: Array<string>, image: string | null, priority: number, startsAt: string | null, batchTimeout: number | null, clusterSize: number, clusterMode: ClusterMode, creationId: string, secretEnviron: Array<string>, allowAgents: Array<string>, avoidAgents: Array<string>, excludeAgents: Array<string>, environ: Array<{ name: string, value: string }>, resourceSlots: Array<{ slot: string, amount: string }>, resourceGroup: { id: string, name: string }, agentLabels: Array<{ key: string, value: string }>, retryPolicy: { maxRetries: number, retryDelay: number, backoff: RetryBackoff, backoffMultiplier: number, maxRetryDelay: number | null, jitter: RetryJitter, jitterRatio: number, maxElapsed: number | null, eligibleCauses: Array<FailureCause>, countPreStartFailures: boolean, trustVerdicts: boolean, rules: Array<{ action: RetryRuleAction }> } } | null };

export type UiKernelLogQueryVariables = Exact<{
  kernelId: string | number;
  last: number;
  before?: string | null | undefined;
}>;


export type UiKernelLogQuery = { node:
    | { __typename: 'Agent', id: string }
    | { __typename: 'Chain', id: string }
    | { __typename: 'Deployment', id: string }
    | { __typename: 'Domain', id: string }
    | { __typename: 'Kernel', status: KernelStatus, logBytes: number, logTruncated: boolean, id: string, logs: { edges: Array<{ cursor: string, node: { stream: LogStream, text: string, at: string } }>, pageInfo: { hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null } } }
    | { __typename: 'Project', id: string }
    | { __typename: 'ResourceGroup', id: string }
    | { __typename: 'Resubmission', id: string }
    | { __typename: 'RetryDecision', id: string }
    | { __typename: 'Route', id: string }
    | { __typename: 'Session', id: string }
    | { __typename: 'Token', id: string }
    | { __typename: 'User', id: string }
    | { __typename: 'Webhook', id: string }
    | { __typename: 'WebhookDelivery', id: string }
   | null };

export type UiKernelLogFollowSubscriptionVariables = Exact<{
  kernelId: string;
  after?: string | null | undefined;
}>;


export type UiKernelLogFollowSubscription = { kernelLogs: { cursor: string, stream: LogStream, text: string, at: string } };

export type UiRetryNowMutationVariables = Exact<{
  sessionId: string;
}>;


export type UiRetryNowMutation = { retryNow:
    | { __typename: 'ForbiddenError', code: string, message: string }
    | { __typename: 'InvalidStateError', code: string, message: string }
    | { __typename: 'NotFoundError', code: string, message: string }
    | { __typename: 'RetryNowPayload', session: { id: string, status: SessionStatus } }
   };

export type UiCancelRetryMutationVariables = Exact<{
  sessionId: string;
}>;


export type UiCancelRetryMutation = { cancelRetry:
    | { __typename: 'CancelRetryPayload', session: { id: string, status: SessionStatus } }
    | { __typename: 'ForbiddenError', code: string, message: string }
    | { __typename: 'InvalidStateError', code: string, message: string }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type UiTerminateMutationVariables = Exact<{
  sessionId: string;
  reason?: string | null | undefined;
}>;


export type UiTerminateMutation = { terminateSession:
    | { __typename: 'ForbiddenError', code: string, message: string }
    | { __typename: 'InvalidStateError', code: string, message: string }
    | { __typename: 'NotFoundError', code: string, message: string }
    | { __typename: 'TerminateSessionPayload', session: { id: string, status: SessionStatus } }
    | { __typename: 'ValidationError', code: string, message: string }
   };

export type UiResubmitMutationVariables = Exact<{
  sessionId: string;
  overrides?: ResubmissionOverrides | null | undefined;
  clientKey?: string | null | undefined;
}>;


export type UiResubmitMutation = { resubmitSessions:
    | { __typename: 'ConflictError', code: string, message: string }
    | { __typename: 'DryRun' }
    | { __typename: 'ForbiddenError', code: string, message: string }
    | { __typename: 'ResubmitSessionsPayload', refused: Array<{ code: string, message: string }>, sessions: Array<{ id: string, attempt: number }> }
    | { __typename: 'ValidationError', code: string, message: string }
   };

export const UiSegmentsFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiSegments"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ChainSegmentConnection"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cursor"}},{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"kind"}},{"kind":"Field","name":{"kind":"Name","value":"from"}},{"kind":"Field","name":{"kind":"Name","value":"to"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"epoch"}},{"kind":"Field","name":{"kind":"Name","value":"cause"}},{"kind":"Field","name":{"kind":"Name","value":"holdReason"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}},{"kind":"Field","name":{"kind":"Name","value":"session"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"sessionId"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"result"}},{"kind":"Field","name":{"kind":"Name","value":"exitCode"}}]}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"pageInfo"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"hasPreviousPage"}},{"kind":"Field","name":{"kind":"Name","value":"startCursor"}}]}}]}}]} as unknown as DocumentNode<UiSegmentsFragment, unknown>;
export const UiDecisionFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiDecision"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"RetryDecision"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"phase"}},{"kind":"Field","name":{"kind":"Name","value":"cause"}},{"kind":"Field","name":{"kind":"Name","value":"counted"}},{"kind":"Field","name":{"kind":"Name","value":"matchedRule"}},{"kind":"Field","name":{"kind":"Name","value":"decidedAt"}},{"kind":"Field","name":{"kind":"Name","value":"dueAt"}},{"kind":"Field","name":{"kind":"Name","value":"dispatchedAt"}},{"kind":"Field","name":{"kind":"Name","value":"baseDelaySeconds"}},{"kind":"Field","name":{"kind":"Name","value":"jitterSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"delaySeconds"}},{"kind":"Field","name":{"kind":"Name","value":"explanation"}},{"kind":"Field","name":{"kind":"Name","value":"holdReason"}},{"kind":"Field","name":{"kind":"Name","value":"heldSince"}},{"kind":"Field","name":{"kind":"Name","value":"holds"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"from"}},{"kind":"Field","name":{"kind":"Name","value":"to"}},{"kind":"Field","name":{"kind":"Name","value":"holdReason"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}}]}}]}}]} as unknown as DocumentNode<UiDecisionFragment, unknown>;
export const UiChainDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiChain"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"chainId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"now"}},{"kind":"Field","name":{"kind":"Name","value":"eventCursor"}},{"kind":"Field","name":{"kind":"Name","value":"chain"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"chainId"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"chainId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"createdAt"}},{"kind":"Field","name":{"kind":"Name","value":"endedAt"}},{"kind":"Field","name":{"kind":"Name","value":"attempts"}},{"kind":"Field","name":{"kind":"Name","value":"runningSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"waitingSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"labels"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"key"}},{"kind":"Field","name":{"kind":"Name","value":"value"}}]}},{"kind":"Field","name":{"kind":"Name","value":"project"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"outlook"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"willRetry"}},{"kind":"Field","name":{"kind":"Name","value":"at"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}}]}},{"kind":"Field","name":{"kind":"Name","value":"actions"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"action"}},{"kind":"Field","name":{"kind":"Name","value":"allowed"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}}]}},{"kind":"Field","name":{"kind":"Name","value":"epochs"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"epoch"}},{"kind":"Field","name":{"kind":"Name","value":"at"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"by"}},{"kind":"Field","name":{"kind":"Name","value":"overrides"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"field"}},{"kind":"Field","name":{"kind":"Name","value":"before"}},{"kind":"Field","name":{"kind":"Name","value":"value"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"firstAttempt"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"createdBy"}},{"kind":"Field","name":{"kind":"Name","value":"user"}}]}},{"kind":"Field","name":{"kind":"Name","value":"newestAttempt"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"sessionId"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"resourceGroup"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"retryState"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"label"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"maxAttempts"}},{"kind":"Field","name":{"kind":"Name","value":"phase"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"timeline"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"last"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiSegments"}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiSegments"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ChainSegmentConnection"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cursor"}},{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"kind"}},{"kind":"Field","name":{"kind":"Name","value":"from"}},{"kind":"Field","name":{"kind":"Name","value":"to"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"epoch"}},{"kind":"Field","name":{"kind":"Name","value":"cause"}},{"kind":"Field","name":{"kind":"Name","value":"holdReason"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}},{"kind":"Field","name":{"kind":"Name","value":"session"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"sessionId"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"result"}},{"kind":"Field","name":{"kind":"Name","value":"exitCode"}}]}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"pageInfo"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"hasPreviousPage"}},{"kind":"Field","name":{"kind":"Name","value":"startCursor"}}]}}]}}]} as unknown as DocumentNode<UiChainQuery, UiChainQueryVariables>;
export const UiEarlierTimelineDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiEarlierTimeline"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"chainId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"before"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"chain"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"chainId"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"timeline"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"last"},"value":{"kind":"IntValue","value":"100"}},{"kind":"Argument","name":{"kind":"Name","value":"before"},"value":{"kind":"Variable","name":{"kind":"Name","value":"before"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiSegments"}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiSegments"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ChainSegmentConnection"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cursor"}},{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"kind"}},{"kind":"Field","name":{"kind":"Name","value":"from"}},{"kind":"Field","name":{"kind":"Name","value":"to"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"epoch"}},{"kind":"Field","name":{"kind":"Name","value":"cause"}},{"kind":"Field","name":{"kind":"Name","value":"holdReason"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}},{"kind":"Field","name":{"kind":"Name","value":"session"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"sessionId"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"result"}},{"kind":"Field","name":{"kind":"Name","value":"exitCode"}}]}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"pageInfo"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"hasPreviousPage"}},{"kind":"Field","name":{"kind":"Name","value":"startCursor"}}]}}]}}]} as unknown as DocumentNode<UiEarlierTimelineQuery, UiEarlierTimelineQueryVariables>;
export const UiAttemptDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiAttempt"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"now"}},{"kind":"Field","name":{"kind":"Name","value":"session"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"sessionId"}},{"kind":"Field","name":{"kind":"Name","value":"chainId"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"epoch"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"result"}},{"kind":"Field","name":{"kind":"Name","value":"origin"}},{"kind":"Field","name":{"kind":"Name","value":"statusReason"}},{"kind":"Field","name":{"kind":"Name","value":"pendingReason"}},{"kind":"Field","name":{"kind":"Name","value":"failureCause"}},{"kind":"Field","name":{"kind":"Name","value":"exitCode"}},{"kind":"Field","name":{"kind":"Name","value":"createdAt"}},{"kind":"Field","name":{"kind":"Name","value":"startedAt"}},{"kind":"Field","name":{"kind":"Name","value":"terminatedAt"}},{"kind":"Field","name":{"kind":"Name","value":"terminatedBy"}},{"kind":"Field","name":{"kind":"Name","value":"reschedules"}},{"kind":"Field","name":{"kind":"Name","value":"clusterSize"}},{"kind":"Field","name":{"kind":"Name","value":"durations"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"queued"}},{"kind":"Field","name":{"kind":"Name","value":"preparing"}},{"kind":"Field","name":{"kind":"Name","value":"running"}},{"kind":"Field","name":{"kind":"Name","value":"ending"}}]}},{"kind":"Field","name":{"kind":"Name","value":"resourceSlots"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"slot"}},{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"parentSession"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"sessionId"}},{"kind":"Field","name":{"kind":"Name","value":"retryDecision"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiDecision"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"retryDecision"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiDecision"}}]}},{"kind":"Field","name":{"kind":"Name","value":"kernels"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"kernelId"}},{"kind":"Field","name":{"kind":"Name","value":"role"}},{"kind":"Field","name":{"kind":"Name","value":"index"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"exitCode"}},{"kind":"Field","name":{"kind":"Name","value":"oomKilled"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}},{"kind":"Field","name":{"kind":"Name","value":"startedAt"}},{"kind":"Field","name":{"kind":"Name","value":"terminatedAt"}},{"kind":"Field","name":{"kind":"Name","value":"logBytes"}},{"kind":"Field","name":{"kind":"Name","value":"logTruncated"}},{"kind":"Field","name":{"kind":"Name","value":"agent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"agentId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiDecision"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"RetryDecision"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"phase"}},{"kind":"Field","name":{"kind":"Name","value":"cause"}},{"kind":"Field","name":{"kind":"Name","value":"counted"}},{"kind":"Field","name":{"kind":"Name","value":"matchedRule"}},{"kind":"Field","name":{"kind":"Name","value":"decidedAt"}},{"kind":"Field","name":{"kind":"Name","value":"dueAt"}},{"kind":"Field","name":{"kind":"Name","value":"dispatchedAt"}},{"kind":"Field","name":{"kind":"Name","value":"baseDelaySeconds"}},{"kind":"Field","name":{"kind":"Name","value":"jitterSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"delaySeconds"}},{"kind":"Field","name":{"kind":"Name","value":"explanation"}},{"kind":"Field","name":{"kind":"Name","value":"holdReason"}},{"kind":"Field","name":{"kind":"Name","value":"heldSince"}},{"kind":"Field","name":{"kind":"Name","value":"holds"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"from"}},{"kind":"Field","name":{"kind":"Name","value":"to"}},{"kind":"Field","name":{"kind":"Name","value":"holdReason"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}}]}}]}}]} as unknown as DocumentNode<UiAttemptQuery, UiAttemptQueryVariables>;
export const UiChangesDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiChanges"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"chainId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"chain"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"chainId"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"changes"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"differences"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"field"}},{"kind":"Field","name":{"kind":"Name","value":"before"}},{"kind":"Field","name":{"kind":"Name","value":"after"}}]}}]}}]}}]}}]}}]}}]} as unknown as DocumentNode<UiChangesQuery, UiChangesQueryVariables>;
export const UiScheduleDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiSchedule"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"cause"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"FailureCause"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retryPolicyPreview"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"policy"},"value":{"kind":"ObjectValue","fields":[]}},{"kind":"Argument","name":{"kind":"Name","value":"sessionId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}}},{"kind":"Argument","name":{"kind":"Name","value":"cause"},"value":{"kind":"Variable","name":{"kind":"Name","value":"cause"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"eligible"}},{"kind":"Field","name":{"kind":"Name","value":"explanation"}},{"kind":"Field","name":{"kind":"Name","value":"schedule"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retry"}},{"kind":"Field","name":{"kind":"Name","value":"delaySeconds"}},{"kind":"Field","name":{"kind":"Name","value":"earliestSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"latestSeconds"}}]}}]}}]}}]} as unknown as DocumentNode<UiScheduleQuery, UiScheduleQueryVariables>;
export const UiHistoryDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiHistory"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"after"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"session"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"schedulingHistory"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}},{"kind":"Argument","name":{"kind":"Name","value":"after"},"value":{"kind":"Variable","name":{"kind":"Name","value":"after"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"phase"}},{"kind":"Field","name":{"kind":"Name","value":"fromStatus"}},{"kind":"Field","name":{"kind":"Name","value":"toStatus"}},{"kind":"Field","name":{"kind":"Name","value":"result"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"Field","name":{"kind":"Name","value":"errorCode"}},{"kind":"Field","name":{"kind":"Name","value":"attempts"}},{"kind":"Field","name":{"kind":"Name","value":"firstAt"}},{"kind":"Field","name":{"kind":"Name","value":"lastAt"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"pageInfo"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"hasNextPage"}},{"kind":"Field","name":{"kind":"Name","value":"endCursor"}}]}}]}}]}}]}}]} as unknown as DocumentNode<UiHistoryQuery, UiHistoryQueryVariables>;
export const UiSpecDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiSpec"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"session"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"sessionId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"sessionType"}},{"kind":"Field","name":{"kind":"Name","value":"command"}},{"kind":"Field","name":{"kind":"Name","value":"image"}},{"kind":"Field","name":{"kind":"Name","value":"priority"}},{"kind":"Field","name":{"kind":"Name","value":"startsAt"}},{"kind":"Field","name":{"kind":"Name","value":"batchTimeout"}},{"kind":"Field","name":{"kind":"Name","value":"clusterSize"}},{"kind":"Field","name":{"kind":"Name","value":"clusterMode"}},{"kind":"Field","name":{"kind":"Name","value":"creationId"}},{"kind":"Field","name":{"kind":"Name","value":"environ"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"value"}}]}},{"kind":"Field","name":{"kind":"Name","value":"secretEnviron"}},{"kind":"Field","name":{"kind":"Name","value":"resourceSlots"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"slot"}},{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"resourceGroup"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"allowAgents"}},{"kind":"Field","name":{"kind":"Name","value":"avoidAgents"}},{"kind":"Field","name":{"kind":"Name","value":"excludeAgents"}},{"kind":"Field","name":{"kind":"Name","value":"agentLabels"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"key"}},{"kind":"Field","name":{"kind":"Name","value":"value"}}]}},{"kind":"Field","name":{"kind":"Name","value":"retryPolicy"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"maxRetries"}},{"kind":"Field","name":{"kind":"Name","value":"retryDelay"}},{"kind":"Field","name":{"kind":"Name","value":"backoff"}},{"kind":"Field","name":{"kind":"Name","value":"backoffMultiplier"}},{"kind":"Field","name":{"kind":"Name","value":"maxRetryDelay"}},{"kind":"Field","name":{"kind":"Name","value":"jitter"}},{"kind":"Field","name":{"kind":"Name","value":"jitterRatio"}},{"kind":"Field","name":{"kind":"Name","value":"maxElapsed"}},{"kind":"Field","name":{"kind":"Name","value":"eligibleCauses"}},{"kind":"Field","name":{"kind":"Name","value":"countPreStartFailures"}},{"kind":"Field","name":{"kind":"Name","value":"trustVerdicts"}},{"kind":"Field","name":{"kind":"Name","value":"rules"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"action"}}]}}]}}]}}]}}]} as unknown as DocumentNode<UiSpecQuery, UiSpecQueryVariables>;
export const UiKernelLogDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiKernelLog"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"kernelId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ID"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"last"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"Int"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"before"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"kernelId"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Kernel"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"logBytes"}},{"kind":"Field","name":{"kind":"Name","value":"logTruncated"}},{"kind":"Field","name":{"kind":"Name","value":"logs"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"last"},"value":{"kind":"Variable","name":{"kind":"Name","value":"last"}}},{"kind":"Argument","name":{"kind":"Name","value":"before"},"value":{"kind":"Variable","name":{"kind":"Name","value":"before"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cursor"}},{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"stream"}},{"kind":"Field","name":{"kind":"Name","value":"text"}},{"kind":"Field","name":{"kind":"Name","value":"at"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"pageInfo"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"hasPreviousPage"}},{"kind":"Field","name":{"kind":"Name","value":"startCursor"}},{"kind":"Field","name":{"kind":"Name","value":"endCursor"}}]}}]}}]}}]}}]}}]} as unknown as DocumentNode<UiKernelLogQuery, UiKernelLogQueryVariables>;
export const UiKernelLogFollowDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"subscription","name":{"kind":"Name","value":"UiKernelLogFollow"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"kernelId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"after"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"kernelLogs"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"kernelId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"kernelId"}}},{"kind":"Argument","name":{"kind":"Name","value":"after"},"value":{"kind":"Variable","name":{"kind":"Name","value":"after"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cursor"}},{"kind":"Field","name":{"kind":"Name","value":"stream"}},{"kind":"Field","name":{"kind":"Name","value":"text"}},{"kind":"Field","name":{"kind":"Name","value":"at"}}]}}]}}]} as unknown as DocumentNode<UiKernelLogFollowSubscription, UiKernelLogFollowSubscriptionVariables>;
export const UiRetryNowDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"UiRetryNow"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retryNow"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"ObjectValue","fields":[{"kind":"ObjectField","name":{"kind":"Name","value":"sessionId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}}}]}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"RetryNowPayload"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"session"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"status"}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Error"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]} as unknown as DocumentNode<UiRetryNowMutation, UiRetryNowMutationVariables>;
export const UiCancelRetryDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"UiCancelRetry"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cancelRetry"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"ObjectValue","fields":[{"kind":"ObjectField","name":{"kind":"Name","value":"sessionId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}}}]}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"CancelRetryPayload"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"session"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"status"}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Error"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]} as unknown as DocumentNode<UiCancelRetryMutation, UiCancelRetryMutationVariables>;
export const UiTerminateDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"UiTerminate"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"reason"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"terminateSession"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"ObjectValue","fields":[{"kind":"ObjectField","name":{"kind":"Name","value":"sessionId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}}},{"kind":"ObjectField","name":{"kind":"Name","value":"reason"},"value":{"kind":"Variable","name":{"kind":"Name","value":"reason"}}}]}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"TerminateSessionPayload"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"session"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"status"}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Error"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]} as unknown as DocumentNode<UiTerminateMutation, UiTerminateMutationVariables>;
export const UiResubmitDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"UiResubmit"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"overrides"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"ResubmissionOverrides"}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"clientKey"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"resubmitSessions"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"ObjectValue","fields":[{"kind":"ObjectField","name":{"kind":"Name","value":"sessionIds"},"value":{"kind":"ListValue","values":[{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}}]}},{"kind":"ObjectField","name":{"kind":"Name","value":"overrides"},"value":{"kind":"Variable","name":{"kind":"Name","value":"overrides"}}},{"kind":"ObjectField","name":{"kind":"Name","value":"clientKey"},"value":{"kind":"Variable","name":{"kind":"Name","value":"clientKey"}}}]}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ResubmitSessionsPayload"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"refused"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"Field","name":{"kind":"Name","value":"sessions"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Error"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]} as unknown as DocumentNode<UiResubmitMutation, UiResubmitMutationVariables>;
