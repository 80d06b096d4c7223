/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from '../../client/schema-types.generated.ts';

import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
export type UiPolicyPreviewQueryVariables = Exact<{
  policy: Types.RetryPolicyInput;
  cause?: Types.FailureCause | null | undefined;
  exitCode?: number | null | undefined;
}>;


export type UiPolicyPreviewQuery = { retryPolicyPreview: { eligible: boolean, explanation: string, schedule: Array<{ retry: number, delaySeconds: number, earliestSeconds: number, latestSeconds: number, elapsedSeconds: number }> } };


export const UiPolicyPreviewDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiPolicyPreview"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"policy"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"RetryPolicyInput"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"cause"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"FailureCause"}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"exitCode"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"Int"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retryPolicyPreview"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"policy"},"value":{"kind":"Variable","name":{"kind":"Name","value":"policy"}}},{"kind":"Argument","name":{"kind":"Name","value":"cause"},"value":{"kind":"Variable","name":{"kind":"Name","value":"cause"}}},{"kind":"Argument","name":{"kind":"Name","value":"exitCode"},"value":{"kind":"Variable","name":{"kind":"Name","value":"exitCode"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"eligible"}},{"kind":"Field","name":{"kind":"Name","value":"explanation"}},{"kind":"Field","name":{"kind":"Name","value":"schedule"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retry"}},{"kind":"Field","name":{"kind":"Name","value":"delaySeconds"}},{"kind":"Field","name":{"kind":"Name","value":"earliestSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"latestSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"elapsedSeconds"}}]}}]}}]}}]} as unknown as DocumentNode<UiPolicyPreviewQuery, UiPolicyPreviewQueryVariables>;
