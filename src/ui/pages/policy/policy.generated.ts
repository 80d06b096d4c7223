/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
/** Releases of Airflow, by how they compute delays. */
export type AirflowRelease =
  /** Up to 2.5.3: no limit of 24 hours yet. */
  | 'AIRFLOW_2_5'
  /** 2.6 to 2.9. */
  | 'AIRFLOW_2_6'
  /** 2.10 to 3.1. */
  | 'AIRFLOW_2_10'
  /** 3.2 and later. */
  | 'AIRFLOW_3_2';

/** An Airflow operator's settings. Durations are seconds. Missing settings have Airflow's own defaults. */
export type AirflowSettingsInput = {
  /** With `taskId`: computes the jitter that Airflow gives this task. */
  dagId?: string | null | undefined;
  /** In Python's format: `2026-01-31 00:00:00+00:00`. Omit it for a run without a logical date. */
  logicalDate?: string | null | undefined;
  /** `max_retry_delay`. */
  maxRetryDelay?: number | null | undefined;
  /** Whose formula; 3.2 if not given. */
  release?: AirflowRelease | null | undefined;
  /** `retries`; 0 if not given. */
  retries?: number | null | undefined;
  /** `retry_delay`; 300 if not given. */
  retryDelay?: number | null | undefined;
  /** `retry_exponential_backoff`; false if not given. */
  retryExponentialBackoff?: boolean | number | null | undefined;
  /** With `dagId`. */
  taskId?: string | null | undefined;
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

/** Where a field of a policy may come from, strongest first. */
export type RetryPolicyLayer =
  /** The cluster's defaults. */
  | 'CLUSTER'
  /** The domain's defaults. */
  | 'DOMAIN'
  /** The project's defaults. */
  | 'PROJECT'
  /** The session itself, when it was created or resubmitted. */
  | 'SESSION'
  /** The built-in default. */
  | 'SHIPPED';

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

export type UiPolicyPreviewQueryVariables = Exact<{
  policy: RetryPolicyInput;
  cause?: FailureCause | null | undefined;
  exitCode?: number | null | undefined;
}>;


export type UiPolicyPreviewQuery = { retryPolicyPreview: { eligible: boolean, explanation: string, schedule: Array<{ retry: number, delaySeconds: number, earliestSeconds: number, latestSeconds: number, elapsedSeconds: number }> } };

export type UiAirflowPreviewQueryVariables = Exact<{
  settings: AirflowSettingsInput;
}>;


export type UiAirflowPreviewQuery = { airflowPolicyPreview: { policy: { maxRetries: number, retryDelay: number, backoff: RetryBackoff, backoffMultiplier: number, maxRetryDelay: number | null, jitter: RetryJitter, jitterRatio: number, sources: Array<{ field: string, source: RetryPolicyLayer }> }, explanation: { alike: Array<string>, differs: Array<string> }, schedule: Array<{ retry: number, delaySeconds: number, earliestSeconds: number, latestSeconds: number, elapsedSeconds: number }>, airflowDelays: Array<{ retry: number, delaySeconds: number, earliestSeconds: number, latestSeconds: number, elapsedSeconds: number }> } };


export const UiPolicyPreviewDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiPolicyPreview"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"policy"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"RetryPolicyInput"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"cause"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"FailureCause"}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"exitCode"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"Int"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retryPolicyPreview"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"policy"},"value":{"kind":"Variable","name":{"kind":"Name","value":"policy"}}},{"kind":"Argument","name":{"kind":"Name","value":"cause"},"value":{"kind":"Variable","name":{"kind":"Name","value":"cause"}}},{"kind":"Argument","name":{"kind":"Name","value":"exitCode"},"value":{"kind":"Variable","name":{"kind":"Name","value":"exitCode"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"eligible"}},{"kind":"Field","name":{"kind":"Name","value":"explanation"}},{"kind":"Field","name":{"kind":"Name","value":"schedule"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retry"}},{"kind":"Field","name":{"kind":"Name","value":"delaySeconds"}},{"kind":"Field","name":{"kind":"Name","value":"earliestSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"latestSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"elapsedSeconds"}}]}}]}}]}}]} as unknown as DocumentNode<UiPolicyPreviewQuery, UiPolicyPreviewQueryVariables>;
export const UiAirflowPreviewDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiAirflowPreview"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"settings"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"AirflowSettingsInput"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"airflowPolicyPreview"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"settings"},"value":{"kind":"Variable","name":{"kind":"Name","value":"settings"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"policy"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"maxRetries"}},{"kind":"Field","name":{"kind":"Name","value":"retryDelay"}},{"kind":"Field","name":{"kind":"Name","value":"backoff"}},{"kind":"Field","name":{"kind":"Name","value":"backoffMultiplier"}},{"kind":"Field","name":{"kind":"Name","value":"maxRetryDelay"}},{"kind":"Field","name":{"kind":"Name","value":"jitter"}},{"kind":"Field","name":{"kind":"Name","value":"jitterRatio"}},{"kind":"Field","name":{"kind":"Name","value":"sources"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"field"}},{"kind":"Field","name":{"kind":"Name","value":"source"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"explanation"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"alike"}},{"kind":"Field","name":{"kind":"Name","value":"differs"}}]}},{"kind":"Field","name":{"kind":"Name","value":"schedule"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retry"}},{"kind":"Field","name":{"kind":"Name","value":"delaySeconds"}},{"kind":"Field","name":{"kind":"Name","value":"earliestSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"latestSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"elapsedSeconds"}}]}},{"kind":"Field","name":{"kind":"Name","value":"airflowDelays"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retry"}},{"kind":"Field","name":{"kind":"Name","value":"delaySeconds"}},{"kind":"Field","name":{"kind":"Name","value":"earliestSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"latestSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"elapsedSeconds"}}]}}]}}]}}]} as unknown as DocumentNode<UiAirflowPreviewQuery, UiAirflowPreviewQueryVariables>;
