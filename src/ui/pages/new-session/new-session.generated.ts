/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../../client/schema-types.generated.ts';

import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
export type UiNewSessionQueryVariables = Exact<{ [key: string]: never; }>;


export type UiNewSessionQuery = { resourceGroups: Array<{ id: string, name: string, allowedSessionTypes: Array<Types.SessionType>, draining: boolean }>, projects: { edges: Array<{ node: { id: string, name: string, domain: string } }> }, volumes: Array<{ name: string, readOnly: boolean }>, retryDefaults: Array<{ id: string, scope: Types.RetryScope, name: string | null, policy: UiPolicyFragment | null }> };

export type UiCreateSessionMutationVariables = Exact<{
  input: Types.CreateSessionInput;
}>;


export type UiCreateSessionMutation = { createSession:
    | (
      { __typename: 'ConflictError' }
      & UiRefusal_ConflictError_Fragment
    )
    | { __typename: 'CreateSessionPayload', session: { id: string, name: string, chainId: string } }
    | (
      { __typename: 'ForbiddenError' }
      & UiRefusal_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & UiRefusal_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & UiRefusal_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & UiRefusal_ValidationError_Fragment
    )
   };

export type UiCreateScheduleMutationVariables = Exact<{
  input: Types.CreateScheduleInput;
}>;


export type UiCreateScheduleMutation = { createSchedule:
    | (
      { __typename: 'ConflictError' }
      & UiRefusal_ConflictError_Fragment
    )
    | { __typename: 'CreateSchedulePayload', schedule: { id: string, scheduleId: string, name: string } }
    | (
      { __typename: 'ForbiddenError' }
      & UiRefusal_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & UiRefusal_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & UiRefusal_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & UiRefusal_ValidationError_Fragment
    )
   };

export type UiPolicyFragment = { given: Array<Types.RetryPolicyField>, maxRetries: number | null, maxElapsed: number | null, retryDelay: number | null, backoff: Types.RetryBackoff | null, backoffMultiplier: number | null, maxRetryDelay: number | null, jitter: Types.RetryJitter | null, jitterRatio: number | null, eligibleCauses: Array<Types.FailureCause> | null, maxUncountedRetries: number | null, countPreStartFailures: boolean | null, trustVerdicts: boolean | null, checkpoint: Types.CheckpointWish | null, checkpointWait: number | null, pinImage: boolean | null, oomIsFailure: boolean | null };

type UiRefusal_ConflictError_Fragment = { code: Types.ErrorCode, message: string };

type UiRefusal_ForbiddenError_Fragment = { code: Types.ErrorCode, message: string };

type UiRefusal_InvalidStateError_Fragment = { code: Types.ErrorCode, message: string };

type UiRefusal_NotFoundError_Fragment = { code: Types.ErrorCode, message: string };

type UiRefusal_QuotaExceededError_Fragment = { code: Types.ErrorCode, message: string };

type UiRefusal_ValidationError_Fragment = { code: Types.ErrorCode, message: string, issues: Array<{ path: string, message: string }> };

export type UiRefusalFragment =
  | UiRefusal_ConflictError_Fragment
  | UiRefusal_ForbiddenError_Fragment
  | UiRefusal_InvalidStateError_Fragment
  | UiRefusal_NotFoundError_Fragment
  | UiRefusal_QuotaExceededError_Fragment
  | UiRefusal_ValidationError_Fragment
;

export const UiPolicyFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiPolicy"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"PartialRetryPolicy"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"given"}},{"kind":"Field","name":{"kind":"Name","value":"maxRetries"}},{"kind":"Field","name":{"kind":"Name","value":"maxElapsed"}},{"kind":"Field","name":{"kind":"Name","value":"retryDelay"}},{"kind":"Field","name":{"kind":"Name","value":"backoff"}},{"kind":"Field","name":{"kind":"Name","value":"backoffMultiplier"}},{"kind":"Field","name":{"kind":"Name","value":"maxRetryDelay"}},{"kind":"Field","name":{"kind":"Name","value":"jitter"}},{"kind":"Field","name":{"kind":"Name","value":"jitterRatio"}},{"kind":"Field","name":{"kind":"Name","value":"eligibleCauses"}},{"kind":"Field","name":{"kind":"Name","value":"maxUncountedRetries"}},{"kind":"Field","name":{"kind":"Name","value":"countPreStartFailures"}},{"kind":"Field","name":{"kind":"Name","value":"trustVerdicts"}},{"kind":"Field","name":{"kind":"Name","value":"checkpoint"}},{"kind":"Field","name":{"kind":"Name","value":"checkpointWait"}},{"kind":"Field","name":{"kind":"Name","value":"pinImage"}},{"kind":"Field","name":{"kind":"Name","value":"oomIsFailure"}}]}}]} as unknown as DocumentNode<UiPolicyFragment, unknown>;
export const UiRefusalFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiRefusal"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Error"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ValidationError"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"issues"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"path"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]} as unknown as DocumentNode<UiRefusalFragment, unknown>;
export const UiNewSessionDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiNewSession"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"resourceGroups"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"allowedSessionTypes"}},{"kind":"Field","name":{"kind":"Name","value":"draining"}}]}},{"kind":"Field","name":{"kind":"Name","value":"projects"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"domain"}}]}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"volumes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"readOnly"}}]}},{"kind":"Field","name":{"kind":"Name","value":"retryDefaults"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"scope"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"policy"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiPolicy"}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiPolicy"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"PartialRetryPolicy"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"given"}},{"kind":"Field","name":{"kind":"Name","value":"maxRetries"}},{"kind":"Field","name":{"kind":"Name","value":"maxElapsed"}},{"kind":"Field","name":{"kind":"Name","value":"retryDelay"}},{"kind":"Field","name":{"kind":"Name","value":"backoff"}},{"kind":"Field","name":{"kind":"Name","value":"backoffMultiplier"}},{"kind":"Field","name":{"kind":"Name","value":"maxRetryDelay"}},{"kind":"Field","name":{"kind":"Name","value":"jitter"}},{"kind":"Field","name":{"kind":"Name","value":"jitterRatio"}},{"kind":"Field","name":{"kind":"Name","value":"eligibleCauses"}},{"kind":"Field","name":{"kind":"Name","value":"maxUncountedRetries"}},{"kind":"Field","name":{"kind":"Name","value":"countPreStartFailures"}},{"kind":"Field","name":{"kind":"Name","value":"trustVerdicts"}},{"kind":"Field","name":{"kind":"Name","value":"checkpoint"}},{"kind":"Field","name":{"kind":"Name","value":"checkpointWait"}},{"kind":"Field","name":{"kind":"Name","value":"pinImage"}},{"kind":"Field","name":{"kind":"Name","value":"oomIsFailure"}}]}}]} as unknown as DocumentNode<UiNewSessionQuery, UiNewSessionQueryVariables>;
export const UiCreateSessionDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"UiCreateSession"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"input"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"CreateSessionInput"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"createSession"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"Variable","name":{"kind":"Name","value":"input"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"CreateSessionPayload"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"session"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"chainId"}}]}}]}},{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiRefusal"}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiRefusal"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Error"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ValidationError"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"issues"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"path"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]} as unknown as DocumentNode<UiCreateSessionMutation, UiCreateSessionMutationVariables>;
export const UiCreateScheduleDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"UiCreateSchedule"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"input"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"CreateScheduleInput"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"createSchedule"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"Variable","name":{"kind":"Name","value":"input"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"CreateSchedulePayload"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"schedule"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"scheduleId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}}]}},{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiRefusal"}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiRefusal"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Error"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ValidationError"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"issues"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"path"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]} as unknown as DocumentNode<UiCreateScheduleMutation, UiCreateScheduleMutationVariables>;
