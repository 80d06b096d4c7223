/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
/** What a token may do. */
export type TokenRole =
  /** Everything, in its project or in all. */
  | 'ADMIN'
  /** Runs kernels, and reads nothing here. */
  | 'AGENT'
  /** Reads and changes the sessions of its project. */
  | 'MEMBER'
  /** Reads service discovery, of its project or of all, and without a project `/metrics`; nothing else. */
  | 'METRICS'
  /** Reads its project, except for the values of environment variables. */
  | 'VIEWER';

export type UiViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type UiViewerQuery = { now: string, viewer: { id: string, name: string, role: TokenRole, project: { id: string, name: string } | null, user: { id: string, name: string } | null, can: { createSessions: boolean, manageRetries: boolean, resubmit: boolean, terminate: boolean, administer: boolean } } | null, projects: { edges: Array<{ node: { id: string, name: string } }> } };


export const UiViewerDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"UiViewer"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"now"}},{"kind":"Field","name":{"kind":"Name","value":"viewer"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"role"}},{"kind":"Field","name":{"kind":"Name","value":"project"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"user"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"can"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"createSessions"}},{"kind":"Field","name":{"kind":"Name","value":"manageRetries"}},{"kind":"Field","name":{"kind":"Name","value":"resubmit"}},{"kind":"Field","name":{"kind":"Name","value":"terminate"}},{"kind":"Field","name":{"kind":"Name","value":"administer"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"projects"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}}]}}]}}]}}]} as unknown as DocumentNode<UiViewerQuery, UiViewerQueryVariables>;
