/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
/** All given conditions must match. */
export type ChainFilter = {
  /** By `newestActivityAt`. */
  activityAt?: DateTimeFilter | null | undefined;
  /** With a kernel that is, or was, on the agent of this id. */
  agent?: string | null | undefined;
  /** By how many attempts there are. */
  attempts?: IntRange | null | undefined;
  /** Whose latest failure had one of these causes. */
  cause?: Array<FailureCause> | null | undefined;
  /** By when the first attempt was created. */
  createdAt?: DateTimeFilter | null | undefined;
  /** By when the retry is due that it waits for. */
  dueAt?: DateTimeFilter | null | undefined;
  /** Whose newest attempt ended with one of these exit codes. */
  exitCode?: Array<number> | null | undefined;
  /** Whose retry is held for one of these reasons. */
  holdReason?: Array<HoldReason> | null | undefined;
  /** With one of these `chainId`s, at most 200. */
  ids?: Array<string> | null | undefined;
  /** With this label. */
  label?: LabelInput | null | undefined;
  /** By name. */
  name?: StringFilter | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** Whose newest attempt is in the resource group of this name. */
  resourceGroup?: string | null | undefined;
  /** Beginnings of words in the name and the labels; all must occur, in any order. Case is ignored. A word is a run of letters and digits. */
  search?: string | null | undefined;
  /** In one of these states. */
  state?: Array<ChainState> | null | undefined;
  /** Whose newest attempt belongs to the user of this name. */
  user?: string | null | undefined;
};

/** What to order chains by. */
export type ChainOrder = {
  /** Which way. */
  direction?: OrderDirection | null | undefined;
  /** By what. */
  field: ChainOrderField;
};

/** By what chains can be ordered. */
export type ChainOrderField =
  /** When an attempt was last created or judged, or its retry changed. */
  | 'ACTIVITY'
  /** How many attempts it has. */
  | 'ATTEMPTS'
  /** When its first attempt was created. */
  | 'CREATED_AT'
  /** When its retry is due. Only chains that wait for a retry, or whose retry is held, are listed. */
  | 'DUE_AT'
  /** Its name, as the database sorts texts. */
  | 'NAME'
  /** Time from its creation to its end; a live chain counts up to when the first page was read. */
  | 'TOTAL_TIME';

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

/** All given conditions must match. */
export type DateTimeFilter = {
  /** Later than this. */
  gt?: string | null | undefined;
  /** At or after this. */
  gte?: string | null | undefined;
  /** Before this. */
  lt?: string | null | undefined;
  /** At or before this. */
  lte?: string | null | undefined;
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

/** A range of whole numbers, ends included. */
export type IntRange = {
  /** At most this. */
  max?: number | null | undefined;
  /** At least this. */
  min?: number | null | undefined;
};

/** A label given by the client. */
export type LabelInput = {
  /** Its key, unique on the session. */
  key: string;
  /** Its value. */
  value: string;
};

/** Which way. */
export type OrderDirection =
  /** Smallest, oldest first. */
  | 'ASC'
  /** Largest, newest first. */
  | 'DESC';

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

/** All given conditions must match. Case matters. */
export type StringFilter = {
  /** Contains this. */
  contains?: string | null | undefined;
  /** Ends with this. */
  endsWith?: string | null | undefined;
  /** Exactly this. */
  equals?: string | null | undefined;
  /** Exactly one of these. */
  in?: Array<string> | null | undefined;
  /** Starts with this. */
  startsWith?: string | null | undefined;
};

export type UiChainRowFragment = { id: string, chainId: string, name: string, state: ChainState, attempts: number, cause: FailureCause | null, newestActivityAt: string, runningSeconds: number, project: { id: string, name: string }, labels: Array<{ key: string, value: string }>, outlook: { at: string | null, reason: string, willRetry: boolean }, actions: Array<{ action: SessionAction, allowed: boolean, reason: string | null }>, newestAttempt: { id: string, sessionId: string, attempt: number, status: SessionStatus, exitCode: number | null, startedAt: string | null, pendingReason: string | null, statusReason: string | null, retryState: { attempt: number, maxAttempts: number }, retryDecision: { id: string, phase: RetryPhase, holdReason: HoldReason | null } | null }, sessions: { edges: Array<{ node: { id: string, attempt: number, status: SessionStatus, result: SessionResult, failureCause: FailureCause | null } }> } };

export type UiChainsQueryVariables = Exact<{
  filter?: ChainFilter | null | undefined;
  orderBy?: ChainOrder | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type UiChainsQuery = { now: string, eventCursor: string, chains: { edges: Array<{ node: UiChainRowFragment }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type UiChainCountsQueryVariables = Exact<{
  filter?: ChainFilter | null | undefined;
}>;


export type UiChainCountsQuery = { chains: { counts: Array<{ state: ChainState, count: number, isExact: boolean }> } };

export type UiChainsChangedQueryVariables = Exact<{
  shown: ChainFilter;
  fresh: ChainFilter;
  filter?: ChainFilter | null | undefined;
  first: number;
}>;


export type UiChainsChangedQuery = { now: string, shown: { edges: Array<{ node: UiChainRowFragment }> }, fresh: { edges: Array<{ node: { id: string, chainId: string } }> }, counted: { counts: Array<{ state: ChainState, count: number, isExact: boolean }> } };

export type UiRetryNowMutationVariables = Exact<{
  sessionId: string;
}>;


export type UiRetryNowMutation = { retryNow:
    | { __typename: 'ForbiddenError', message: string, code: string }
    | { __typename: 'InvalidStateError', message: string, code: string }
    | { __typename: 'NotFoundError', message: string, code: string }
    | { __typename: 'RetryNowPayload', session: { id: string, chain: UiChainRowFragment } }
   };

export const UiChainRowFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiChainRow"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Chain"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"chainId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"attempts"}},{"kind":"Field","name":{"kind":"Name","value":"cause"}},{"kind":"Field","name":{"kind":"Name","value":"newestActivityAt"}},{"kind":"Field","name":{"kind":"Name","value":"runningSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"project"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"labels"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"key"}},{"kind":"Field","name":{"kind":"Name","value":"value"}}]}},{"kind":"Field","name":{"kind":"Name","value":"outlook"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"at"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}},{"kind":"Field","name":{"kind":"Name","value":"willRetry"}}]}},{"kind":"Field","name":{"kind":"Name","value":"actions"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"action"}},{"kind":"Field","name":{"kind":"Name","value":"allowed"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}}]}},{"kind":"Field","name":{"kind":"Name","value":"newestAttempt"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"sessionId"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"exitCode"}},{"kind":"Field","name":{"kind":"Name","value":"startedAt"}},{"kind":"Field","name":{"kind":"Name","value":"pendingReason"}},{"kind":"Field","name":{"kind":"Name","value":"statusReason"}},{"kind":"Field","name":{"kind":"Name","value":"retryState"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"maxAttempts"}}]}},{"kind":"Field","name":{"kind":"Name","value":"retryDecision"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"phase"}},{"kind":"Field","name":{"kind":"Name","value":"holdReason"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"sessions"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"last"},"value":{"kind":"IntValue","value":"8"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"result"}},{"kind":"Field","name":{"kind":"Name","value":"failureCause"}}]}}]}}]}}]}}]} as unknown as DocumentNode<UiChainRowFragment, unknown>;
export const UiChainsDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiChains"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"filter"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"ChainFilter"}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"orderBy"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"ChainOrder"}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"first"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"Int"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"after"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"now"}},{"kind":"Field","name":{"kind":"Name","value":"eventCursor"}},{"kind":"Field","name":{"kind":"Name","value":"chains"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"filter"},"value":{"kind":"Variable","name":{"kind":"Name","value":"filter"}}},{"kind":"Argument","name":{"kind":"Name","value":"orderBy"},"value":{"kind":"Variable","name":{"kind":"Name","value":"orderBy"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"Variable","name":{"kind":"Name","value":"first"}}},{"kind":"Argument","name":{"kind":"Name","value":"after"},"value":{"kind":"Variable","name":{"kind":"Name","value":"after"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiChainRow"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"pageInfo"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"hasNextPage"}},{"kind":"Field","name":{"kind":"Name","value":"endCursor"}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiChainRow"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Chain"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"chainId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"attempts"}},{"kind":"Field","name":{"kind":"Name","value":"cause"}},{"kind":"Field","name":{"kind":"Name","value":"newestActivityAt"}},{"kind":"Field","name":{"kind":"Name","value":"runningSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"project"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"labels"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"key"}},{"kind":"Field","name":{"kind":"Name","value":"value"}}]}},{"kind":"Field","name":{"kind":"Name","value":"outlook"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"at"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}},{"kind":"Field","name":{"kind":"Name","value":"willRetry"}}]}},{"kind":"Field","name":{"kind":"Name","value":"actions"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"action"}},{"kind":"Field","name":{"kind":"Name","value":"allowed"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}}]}},{"kind":"Field","name":{"kind":"Name","value":"newestAttempt"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"sessionId"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"exitCode"}},{"kind":"Field","name":{"kind":"Name","value":"startedAt"}},{"kind":"Field","name":{"kind":"Name","value":"pendingReason"}},{"kind":"Field","name":{"kind":"Name","value":"statusReason"}},{"kind":"Field","name":{"kind":"Name","value":"retryState"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"maxAttempts"}}]}},{"kind":"Field","name":{"kind":"Name","value":"retryDecision"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"phase"}},{"kind":"Field","name":{"kind":"Name","value":"holdReason"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"sessions"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"last"},"value":{"kind":"IntValue","value":"8"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"result"}},{"kind":"Field","name":{"kind":"Name","value":"failureCause"}}]}}]}}]}}]}}]} as unknown as DocumentNode<UiChainsQuery, UiChainsQueryVariables>;
export const UiChainCountsDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiChainCounts"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"filter"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"ChainFilter"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"chains"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"filter"},"value":{"kind":"Variable","name":{"kind":"Name","value":"filter"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"1"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"counts"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"count"}},{"kind":"Field","name":{"kind":"Name","value":"isExact"}}]}}]}}]}}]} as unknown as DocumentNode<UiChainCountsQuery, UiChainCountsQueryVariables>;
export const UiChainsChangedDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiChainsChanged"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"shown"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ChainFilter"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"fresh"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ChainFilter"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"filter"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"ChainFilter"}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"first"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"Int"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"now"}},{"kind":"Field","alias":{"kind":"Name","value":"shown"},"name":{"kind":"Name","value":"chains"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"filter"},"value":{"kind":"Variable","name":{"kind":"Name","value":"shown"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"Variable","name":{"kind":"Name","value":"first"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiChainRow"}}]}}]}}]}},{"kind":"Field","alias":{"kind":"Name","value":"fresh"},"name":{"kind":"Name","value":"chains"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"filter"},"value":{"kind":"Variable","name":{"kind":"Name","value":"fresh"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"Variable","name":{"kind":"Name","value":"first"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"chainId"}}]}}]}}]}},{"kind":"Field","alias":{"kind":"Name","value":"counted"},"name":{"kind":"Name","value":"chains"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"filter"},"value":{"kind":"Variable","name":{"kind":"Name","value":"filter"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"1"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"counts"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"count"}},{"kind":"Field","name":{"kind":"Name","value":"isExact"}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiChainRow"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Chain"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"chainId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"attempts"}},{"kind":"Field","name":{"kind":"Name","value":"cause"}},{"kind":"Field","name":{"kind":"Name","value":"newestActivityAt"}},{"kind":"Field","name":{"kind":"Name","value":"runningSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"project"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"labels"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"key"}},{"kind":"Field","name":{"kind":"Name","value":"value"}}]}},{"kind":"Field","name":{"kind":"Name","value":"outlook"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"at"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}},{"kind":"Field","name":{"kind":"Name","value":"willRetry"}}]}},{"kind":"Field","name":{"kind":"Name","value":"actions"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"action"}},{"kind":"Field","name":{"kind":"Name","value":"allowed"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}}]}},{"kind":"Field","name":{"kind":"Name","value":"newestAttempt"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"sessionId"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"exitCode"}},{"kind":"Field","name":{"kind":"Name","value":"startedAt"}},{"kind":"Field","name":{"kind":"Name","value":"pendingReason"}},{"kind":"Field","name":{"kind":"Name","value":"statusReason"}},{"kind":"Field","name":{"kind":"Name","value":"retryState"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"maxAttempts"}}]}},{"kind":"Field","name":{"kind":"Name","value":"retryDecision"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"phase"}},{"kind":"Field","name":{"kind":"Name","value":"holdReason"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"sessions"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"last"},"value":{"kind":"IntValue","value":"8"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"result"}},{"kind":"Field","name":{"kind":"Name","value":"failureCause"}}]}}]}}]}}]}}]} as unknown as DocumentNode<UiChainsChangedQuery, UiChainsChangedQueryVariables>;
export const UiRetryNowDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"UiRetryNow"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"UUID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retryNow"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"ObjectValue","fields":[{"kind":"ObjectField","name":{"kind":"Name","value":"sessionId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"sessionId"}}}]}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"RetryNowPayload"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"session"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"chain"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiChainRow"}}]}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Error"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"Field","name":{"kind":"Name","value":"code"}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiChainRow"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Chain"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"chainId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"attempts"}},{"kind":"Field","name":{"kind":"Name","value":"cause"}},{"kind":"Field","name":{"kind":"Name","value":"newestActivityAt"}},{"kind":"Field","name":{"kind":"Name","value":"runningSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"project"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"labels"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"key"}},{"kind":"Field","name":{"kind":"Name","value":"value"}}]}},{"kind":"Field","name":{"kind":"Name","value":"outlook"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"at"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}},{"kind":"Field","name":{"kind":"Name","value":"willRetry"}}]}},{"kind":"Field","name":{"kind":"Name","value":"actions"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"action"}},{"kind":"Field","name":{"kind":"Name","value":"allowed"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}}]}},{"kind":"Field","name":{"kind":"Name","value":"newestAttempt"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"sessionId"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"exitCode"}},{"kind":"Field","name":{"kind":"Name","value":"startedAt"}},{"kind":"Field","name":{"kind":"Name","value":"pendingReason"}},{"kind":"Field","name":{"kind":"Name","value":"statusReason"}},{"kind":"Field","name":{"kind":"Name","value":"retryState"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"maxAttempts"}}]}},{"kind":"Field","name":{"kind":"Name","value":"retryDecision"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"phase"}},{"kind":"Field","name":{"kind":"Name","value":"holdReason"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"sessions"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"last"},"value":{"kind":"IntValue","value":"8"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"result"}},{"kind":"Field","name":{"kind":"Name","value":"failureCause"}}]}}]}}]}}]}}]} as unknown as DocumentNode<UiRetryNowMutation, UiRetryNowMutationVariables>;
