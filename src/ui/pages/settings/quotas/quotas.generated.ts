/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../../../client/schema-types.generated.ts';

import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
export type UiQuotasQueryVariables = Exact<{ [key: string]: never; }>;


export type UiQuotasQuery = { now: string, quotas: Array<UiQuotaFragment> };

export type UiQuotaFragment = { id: string, scope: Types.QuotaScope, name: string, maxRunning: number | null, maxPending: number | null, maxCheckpointBytes: number | null, slots: Array<{ slot: string, amount: string }>, usage: { running: number, pending: number, checkpointBytes: number, slots: Array<{ slot: string, amount: string }> } };

export type UiSetQuotaMutationVariables = Exact<{
  input: Types.SetQuotaInput;
}>;


export type UiSetQuotaMutation = { setQuota:
    | (
      { __typename: 'ForbiddenError' }
      & UiRefusal_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & UiRefusal_NotFoundError_Fragment
    )
    | { __typename: 'SetQuotaPayload', quota: UiQuotaFragment }
    | (
      { __typename: 'ValidationError' }
      & UiRefusal_ValidationError_Fragment
    )
   };

type UiRefusal_ConflictError_Fragment = { code: string, message: string };

type UiRefusal_ForbiddenError_Fragment = { code: string, message: string };

type UiRefusal_InvalidStateError_Fragment = { code: string, message: string };

type UiRefusal_NotFoundError_Fragment = { code: string, message: string };

type UiRefusal_QuotaExceededError_Fragment = { code: string, message: string };

type UiRefusal_ValidationError_Fragment = { code: string, message: string, issues: Array<{ path: string, message: string }> };

export type UiRefusalFragment =
  | UiRefusal_ConflictError_Fragment
  | UiRefusal_ForbiddenError_Fragment
  | UiRefusal_InvalidStateError_Fragment
  | UiRefusal_NotFoundError_Fragment
  | UiRefusal_QuotaExceededError_Fragment
  | UiRefusal_ValidationError_Fragment
;

export const UiQuotaFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiQuota"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Quota"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"scope"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"maxRunning"}},{"kind":"Field","name":{"kind":"Name","value":"maxPending"}},{"kind":"Field","name":{"kind":"Name","value":"maxCheckpointBytes"}},{"kind":"Field","name":{"kind":"Name","value":"slots"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"slot"}},{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"usage"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"running"}},{"kind":"Field","name":{"kind":"Name","value":"pending"}},{"kind":"Field","name":{"kind":"Name","value":"checkpointBytes"}},{"kind":"Field","name":{"kind":"Name","value":"slots"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"slot"}},{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}}]}}]} as unknown as DocumentNode<UiQuotaFragment, unknown>;
export const UiRefusalFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiRefusal"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Error"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ValidationError"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"issues"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"path"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]} as unknown as DocumentNode<UiRefusalFragment, unknown>;
export const UiQuotasDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiQuotas"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"now"}},{"kind":"Field","name":{"kind":"Name","value":"quotas"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiQuota"}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiQuota"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Quota"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"scope"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"maxRunning"}},{"kind":"Field","name":{"kind":"Name","value":"maxPending"}},{"kind":"Field","name":{"kind":"Name","value":"maxCheckpointBytes"}},{"kind":"Field","name":{"kind":"Name","value":"slots"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"slot"}},{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"usage"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"running"}},{"kind":"Field","name":{"kind":"Name","value":"pending"}},{"kind":"Field","name":{"kind":"Name","value":"checkpointBytes"}},{"kind":"Field","name":{"kind":"Name","value":"slots"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"slot"}},{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}}]}}]} as unknown as DocumentNode<UiQuotasQuery, UiQuotasQueryVariables>;
export const UiSetQuotaDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"UiSetQuota"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"input"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"SetQuotaInput"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"setQuota"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"Variable","name":{"kind":"Name","value":"input"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"SetQuotaPayload"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"quota"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiQuota"}}]}}]}},{"kind":"FragmentSpread","name":{"kind":"Name","value":"UiRefusal"}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiQuota"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Quota"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"scope"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"maxRunning"}},{"kind":"Field","name":{"kind":"Name","value":"maxPending"}},{"kind":"Field","name":{"kind":"Name","value":"maxCheckpointBytes"}},{"kind":"Field","name":{"kind":"Name","value":"slots"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"slot"}},{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"usage"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"running"}},{"kind":"Field","name":{"kind":"Name","value":"pending"}},{"kind":"Field","name":{"kind":"Name","value":"checkpointBytes"}},{"kind":"Field","name":{"kind":"Name","value":"slots"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"slot"}},{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"UiRefusal"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Error"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ValidationError"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"issues"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"path"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]} as unknown as DocumentNode<UiSetQuotaMutation, UiSetQuotaMutationVariables>;
