/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type * as Types from './schema-types.generated.ts';

import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
export type TokenSummaryFragment = { tokenId: string, name: string, prefix: string, role: Types.TokenRole, resourceGroups: Array<string>, createdAt: string, expiresAt: string | null, revokedAt: string | null, lastUsedAt: string | null, project: { name: string } | null, user: { name: string } | null };

export type ViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type ViewerQuery = { viewer: TokenSummaryFragment | null };

export type TokensQueryVariables = Exact<{
  idPrefix?: string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type TokensQuery = { tokens: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: TokenSummaryFragment }> } | null };

export type CreateTokenMutationVariables = Exact<{
  input: Types.CreateTokenInput;
}>;


export type CreateTokenMutation = { createToken:
    | { __typename: 'CreateTokenPayload', secret: string, token: TokenSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type RevokeTokenMutationVariables = Exact<{
  input: Types.RevokeTokenInput;
}>;


export type RevokeTokenMutation = { revokeToken:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'RevokeTokenPayload', token: TokenSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type AuditLogQueryVariables = Exact<{
  filter?: Types.AuditFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type AuditLogQuery = { auditLog: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { entryId: string, at: string, actor: string, tokenId: string | null, userId: string | null, requestId: string | null, address: string | null, action: string, projectId: string | null, sessionId: string | null, data: unknown } }> } | null };

export type ProjectsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ProjectsQuery = { projects: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { projectId: string, name: string, domain: string, membersEndAll: boolean, outputKeepDays: number | null, createdAt: string } }> } };

export type UsersQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type UsersQuery = { users: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { userId: string, name: string, createdAt: string, memberships: Array<{ role: Types.TokenRole, project: { name: string } }> } }> } };

export type CreateUserMutationVariables = Exact<{
  input: Types.CreateUserInput;
}>;


export type CreateUserMutation = { createUser:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'CreateUserPayload', user: { userId: string, name: string, createdAt: string } }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type DomainsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type DomainsQuery = { domains: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { domainId: string, name: string, createdAt: string } }> } };

export type CreateDomainMutationVariables = Exact<{
  input: Types.CreateDomainInput;
}>;


export type CreateDomainMutation = { createDomain:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'CreateDomainPayload', domain: { domainId: string, name: string, createdAt: string } }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type CreateProjectMutationVariables = Exact<{
  input: Types.CreateProjectInput;
}>;


export type CreateProjectMutation = { createProject:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'CreateProjectPayload', project: { projectId: string, name: string, domain: string, createdAt: string } }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type UpdateProjectMutationVariables = Exact<{
  input: Types.UpdateProjectInput;
}>;


export type UpdateProjectMutation = { updateProject:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'UpdateProjectPayload', project: { projectId: string, name: string, membersEndAll: boolean, outputKeepDays: number | null } }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type DeleteUserMutationVariables = Exact<{
  input: Types.DeleteUserInput;
}>;


export type DeleteUserMutation = { deleteUser:
    | { __typename: 'DeleteUserPayload', userId: string }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type SetProjectMemberMutationVariables = Exact<{
  input: Types.SetProjectMemberInput;
}>;


export type SetProjectMemberMutation = { setProjectMember:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'SetProjectMemberPayload', project: { name: string } }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type RemoveProjectMemberMutationVariables = Exact<{
  input: Types.RemoveProjectMemberInput;
}>;


export type RemoveProjectMemberMutation = { removeProjectMember:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'RemoveProjectMemberPayload', deletedId: string }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type QuotaDetailFragment = { scope: Types.QuotaScope, name: string, maxPending: number | null, maxRunning: number | null, maxCheckpointBytes: number | null, maxOutputBytes: number | null, slots: Array<{ slot: string, amount: string }>, usage: { pending: number, running: number, checkpointBytes: number, outputBytes: number, slots: Array<{ slot: string, amount: string }> } };

export type QuotasQueryVariables = Exact<{ [key: string]: never; }>;


export type QuotasQuery = { quotas: Array<QuotaDetailFragment> };

export type SetQuotaMutationVariables = Exact<{
  input: Types.SetQuotaInput;
}>;


export type SetQuotaMutation = { setQuota:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'SetQuotaPayload', quota: QuotaDetailFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type AgentsQueryVariables = Exact<{
  filter?: Types.AgentFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type AgentsQuery = { agents: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { agentId: string, name: string, status: Types.AgentStatus, embedded: boolean, isolation: string | null, refuses: string | null, gpuFault: string | null, version: string, registeredAt: string, lastHeardAt: string, resourceGroup: { name: string }, slots: Array<{ slot: string, capacity: string, used: string }>, labels: Array<{ key: string, value: string }>, gpus: Array<{ slot: string, uuid: string, index: number, name: string, memoryBytes: number | null, inUse: boolean, fault: string | null, temperatureCelsius: number | null, usedMemoryBytes: number | null, utilization: number | null, sessions: Array<{ sessionId: string, name: string, attempt: number }> }> } }> } };

export type VolumesQueryVariables = Exact<{ [key: string]: never; }>;


export type VolumesQuery = { volumes: Array<{ name: string, readOnly: boolean, resourceGroups: Array<string>, agents: number }> };

export type GroupTimeoutsFragment = { pendingTimeout: number | null, prepareTimeout: number | null, createTimeout: number | null, queueTimeout: number | null, terminateTimeout: number, stopGrace: number, stopGraceMax: number, fenceAfter: number };

export type GroupExecutorOptionsFragment = { allowedExecutorOptions: Array<string>, executorOptions: Array<{ key: string, value: string }> };

export type ResourceGroupsQueryVariables = Exact<{ [key: string]: never; }>;


export type ResourceGroupsQuery = { resourceGroups: Array<(
    { name: string, draining: boolean, drainReason: string | null, selector: Types.AgentSelector, sequencer: Types.Sequencer, maxTries: number, maxReschedules: number, pendingSessions: { totalCount: number, totalCountIsExact: boolean }, slots: Array<{ slot: string, capacity: string, used: string }> }
    & GroupTimeoutsFragment
    & GroupExecutorOptionsFragment
  )> };

export type DrainAgentMutationVariables = Exact<{
  input: Types.DrainAgentInput;
}>;


export type DrainAgentMutation = { drainAgent:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'DrainAgentPayload', agent: { agentId: string, name: string, status: Types.AgentStatus } }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ReturnGpuMutationVariables = Exact<{
  input: Types.ReturnGpuInput;
}>;


export type ReturnGpuMutation = { returnGpu:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'ReturnGpuPayload', agent: { agentId: string, name: string, status: Types.AgentStatus } }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type TakeGpuMutationVariables = Exact<{
  input: Types.TakeGpuInput;
}>;


export type TakeGpuMutation = { takeGpu:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'TakeGpuPayload', agent: { agentId: string, name: string, status: Types.AgentStatus } }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ResumeAgentMutationVariables = Exact<{
  input: Types.ResumeAgentInput;
}>;


export type ResumeAgentMutation = { resumeAgent:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'ResumeAgentPayload', agent: { agentId: string, name: string, status: Types.AgentStatus } }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type RemoveAgentMutationVariables = Exact<{
  input: Types.RemoveAgentInput;
}>;


export type RemoveAgentMutation = { removeAgent:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'RemoveAgentPayload', agent: { agentId: string, name: string } }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type CreateResourceGroupMutationVariables = Exact<{
  input: Types.CreateResourceGroupInput;
}>;


export type CreateResourceGroupMutation = { createResourceGroup:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'CreateResourceGroupPayload', resourceGroup: { name: string, draining: boolean } }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type UpdateResourceGroupMutationVariables = Exact<{
  input: Types.UpdateResourceGroupInput;
}>;


export type UpdateResourceGroupMutation = { updateResourceGroup:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'UpdateResourceGroupPayload', resourceGroup: (
        { name: string, draining: boolean, drainReason: string | null }
        & GroupTimeoutsFragment
        & GroupExecutorOptionsFragment
      ) }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type DeleteResourceGroupMutationVariables = Exact<{
  input: Types.DeleteResourceGroupInput;
}>;


export type DeleteResourceGroupMutation = { deleteResourceGroup:
    | { __typename: 'DeleteResourceGroupPayload', name: string }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ChainQueryVariables = Exact<{
  id: string;
}>;


export type ChainQuery = { session: { retryChain: Array<AttemptFragment> } | null };

export type ChainsQueryVariables = Exact<{
  filter?: Types.ChainFilter | null | undefined;
  orderBy?: Types.ChainOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ChainsQuery = { chains: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { chainId: string, name: string, groupIndex: number | null, state: Types.ChainState, cause: Types.FailureCause | null, attempts: number, failureCount: number, runningSeconds: number, waitingSeconds: number, totalSeconds: number, createdAt: string, newestActivityAt: string, endedAt: string | null, project: { name: string }, outlook: { willRetry: boolean, dueAt: string | null, reason: string }, newestAttempt: { sessionId: string } } }> } };

export type ChainEndsQueryVariables = Exact<{
  ids: Array<string> | string;
  first?: number | null | undefined;
}>;


export type ChainEndsQuery = { chains: { edges: Array<{ node: { chainId: string, name: string, state: Types.ChainState, attempts: number, runningSeconds: number, endedAt: string | null, outlook: { reason: string }, newestAttempt: SessionSummaryFragment } }> } };

export type ChainCountsQueryVariables = Exact<{
  filter?: Types.ChainFilter | null | undefined;
}>;


export type ChainCountsQuery = { chains: { counts: Array<{ state: Types.ChainState, count: number, isExact: boolean }> } };

export type ChainTimelineQueryVariables = Exact<{
  sessionId: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ChainTimelineQuery = { chain: { timeline: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ node: { kind: Types.ChainSegmentKind, from: string, to: string | null, attempt: number, epoch: number, cause: Types.FailureCause | null, holdReason: Types.HoldReason | null, reason: string | null, session: { sessionId: string } | null } }> } } | null };

export type DeploymentSummaryFragment = { deploymentId: string, creationId: string, name: string, status: Types.DeploymentStatus, statusReason: string | null, settled: boolean, replicas: number, minHealthy: number, maxSurge: number, healthyReplicas: number, createdAt: string, destroyedAt: string | null, project: { name: string }, revision: { number: number, image: string | null, command: Array<string>, resourceGroup: string, labels: Array<{ key: string, value: string }> }, endpoints: Array<{ host: string, port: number, url: string }> };

export type DeploymentDetailFragment = (
  { statusChangedAt: string, createdBy: string | null, failures: number, nextRouteAt: string | null, routeCounts: Array<{ status: Types.RouteStatus, count: number }>, revision: { secretEnviron: Array<string>, priority: number, portVariable: string, startTimeout: number, evictAfter: number, drain: number, createdAt: string, environ: Array<{ name: string, value: string }>, resourceSlots: Array<{ slot: string, amount: string }>, requiredGpus: { model: string | null, memoryBytes: number | null } | null, agentLabels: Array<{ key: string, value: string }>, mounts: Array<{ volume: string, path: string, readOnly: boolean }>, healthCheck: { path: string, interval: number, timeout: number, healthyThreshold: number, unhealthyThreshold: number, initialDelay: number, staleAfter: number } }, routes: { edges: Array<{ node: { routeId: string, status: Types.RouteStatus, statusReason: string | null, statusChangedAt: string, host: string | null, port: number | null, lastCheckFault: string | null, createdAt: string, revision: { number: number }, session: { sessionId: string, pendingReason: string | null } } }> } }
  & DeploymentSummaryFragment
);

export type DeploymentQueryVariables = Exact<{
  id: string;
}>;


export type DeploymentQuery = { deployment: DeploymentDetailFragment | null };

export type DeploymentsQueryVariables = Exact<{
  filter?: Types.DeploymentFilter | null | undefined;
  orderBy?: Types.DeploymentOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type DeploymentsQuery = { deployments: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: DeploymentSummaryFragment }> } };

export type CreateDeploymentMutationVariables = Exact<{
  input: Types.CreateDeploymentInput;
}>;


export type CreateDeploymentMutation = { createDeployment:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'CreateDeploymentPayload', created: boolean, deployment: DeploymentSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & Failure_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ScaleDeploymentMutationVariables = Exact<{
  input: Types.ScaleDeploymentInput;
}>;


export type ScaleDeploymentMutation = { scaleDeployment:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'ScaleDeploymentPayload', deployment: DeploymentSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type UpdateDeploymentMutationVariables = Exact<{
  input: Types.UpdateDeploymentInput;
}>;


export type UpdateDeploymentMutation = { updateDeployment:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'UpdateDeploymentPayload', deployment: DeploymentSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type DestroyDeploymentMutationVariables = Exact<{
  input: Types.DestroyDeploymentInput;
}>;


export type DestroyDeploymentMutation = { destroyDeployment:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'DestroyDeploymentPayload', deployment: DeploymentSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type DeploymentEventFieldsFragment = { cursor: string, type: Types.DeploymentEventType, occurredAt: string, deploymentId: string, routeId: string | null, sessionId: string | null, fromStatus: Types.EntityStatus | null, toStatus: Types.EntityStatus | null, fromReplicas: number | null, toReplicas: number | null, fromRevision: number | null, revision: number | null, host: string | null, port: number | null, reason: string | null, deployment: { name: string } };

export type DeploymentEventsSubscriptionVariables = Exact<{
  filter?: Types.DeploymentEventFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type DeploymentEventsSubscription = { deploymentEvents: DeploymentEventFieldsFragment };

export type PastDeploymentEventsQueryVariables = Exact<{
  filter?: Types.DeploymentEventFilter | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type PastDeploymentEventsQuery = { deploymentEvents: { pageInfo: { hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null }, edges: Array<{ node: DeploymentEventFieldsFragment }> } };

export type EventCursorQueryVariables = Exact<{ [key: string]: never; }>;


export type EventCursorQuery = { eventCursor: string };

export type RetryEventsSubscriptionVariables = Exact<{
  filter?: Types.RetryEventFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type RetryEventsSubscription = { retryEvents: { cursor: string, type: Types.RetryEventType, occurredAt: string, sessionId: string, chainId: string, attempt: number, maxAttempts: number, cause: Types.FailureCause | null, delaySeconds: number | null, dueAt: string | null, childSessionId: string | null, reason: string | null, session: { attempt: number } } };

export type EventFieldsFragment = { cursor: string, type: Types.SessionEventType, occurredAt: string, sessionId: string, chainId: string, fromStatus: Types.SessionStatus | null, toStatus: Types.SessionStatus | null, attempt: number | null, maxAttempts: number | null, cause: Types.FailureCause | null, delaySeconds: number | null, dueAt: string | null, childSessionId: string | null, reason: string | null, chainEnd: { epoch: number, attempts: number, cause: Types.FailureCause | null, runningSeconds: number, waitingSeconds: number } | null };

export type SessionEventsSubscriptionVariables = Exact<{
  filter?: Types.SessionEventFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type SessionEventsSubscription = { sessionEvents: EventFieldsFragment };

export type EventsQueryVariables = Exact<{
  filter?: Types.SessionEventFilter | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type EventsQuery = { events: { pageInfo: { hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null }, edges: Array<{ node: EventFieldsFragment }> } };

export type FailureGroupSummaryFragment = { failureGroupId: string, title: string, name: string | null, cause: Types.FailureCause | null, exitCode: number | null, lines: Array<string>, masked: Array<string>, maskVersion: number, rule: string | null, state: Types.FailureGroupState, note: string | null, link: string | null, mutedUntil: string | null, stateBy: string | null, stateAt: string | null, regressedAt: string | null, createdAt: string, isNew: boolean, attempts: number, chains: number, firstSeenAt: string | null, lastSeenAt: string | null, succeededLater: number | null, runningSecondsLost: number, cpuSecondsLost: number, project: { name: string }, maskChanges: Array<{ version: number, since: string }>, breaker: { openedAt: string, openedBy: string | null, failures: number, chains: number, held: number, probes: number, nextProbeAt: string } | null };

export type FailureGroupsQueryVariables = Exact<{
  filter?: Types.SessionFilter | null | undefined;
  window?: Types.TimeWindow | null | undefined;
  states?: Array<Types.FailureGroupState> | Types.FailureGroupState | null | undefined;
  orderBy?: Types.FailureGroupOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type FailureGroupsQuery = { failureGroups: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ node: FailureGroupSummaryFragment }> } };

export type FailureGroupQueryVariables = Exact<{
  id: string;
  window?: Types.TimeWindow | null | undefined;
}>;


export type FailureGroupQuery = { failureGroup: (
    { agents: Array<{ name: string, attempts: number }>, images: Array<{ name: string, attempts: number }>, examples: Array<{ sessionId: string, chainId: string, name: string, attempt: number, terminatedAt: string | null }> }
    & FailureGroupSummaryFragment
  ) | null };

export type SetFailureGroupStateMutationVariables = Exact<{
  input: Types.SetFailureGroupStateInput;
}>;


export type SetFailureGroupStateMutation = { setFailureGroupState:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'FailureGroupPayload', failureGroup: FailureGroupSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type SetRetryBreakerMutationVariables = Exact<{
  input: Types.SetRetryBreakerInput;
}>;


export type SetRetryBreakerMutation = { setRetryBreaker:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'FailureGroupPayload', failureGroup: FailureGroupSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ComparedSessionFragment = { sessionId: string, name: string, chainId: string, attempt: number, status: Types.SessionStatus, result: Types.SessionResult, impossible: boolean, exitCode: number | null, failureCause: Types.FailureCause | null, failureReason: string | null, statusReason: string | null, pendingReason: string | null, progress: string | null, timedOut: boolean, batchTimeout: number | null, startedAt: string | null, terminatedAt: string | null, imageDigest: string | null, kernels: Array<{ agent: { name: string } | null }>, usage: { peakMemoryBytes: number | null, cpuSeconds: number | null } | null };

export type CompareSessionsQueryVariables = Exact<{
  left: string;
  right: string;
}>;


export type CompareSessionsQuery = { compareSessions: { left: ComparedSessionFragment, right: ComparedSessionFragment, differences: Array<{ field: string, before: string | null, after: string | null }>, logDifference: { leftNumber: number, rightNumber: number, leftLine: string | null, rightLine: string | null, linesBefore: Array<string>, leftLinesAfter: Array<string>, rightLinesAfter: Array<string> } | null } };

export type ComparableSessionsQueryVariables = Exact<{
  id: string;
}>;


export type ComparableSessionsQuery = { session: { sessionId: string, lastSuccess: { sessionId: string } | null, parentSession: { sessionId: string } | null } | null };

export type SlotTimesFragment = { cpu: number, mem: number, gpu: number };

export type RetryInsightsQueryVariables = Exact<{
  filter?: Types.SessionFilter | null | undefined;
  window?: Types.TimeWindow | null | undefined;
  groupBy: Types.InsightGrouping;
  labelKey?: string | null | undefined;
  first?: number | null | undefined;
  withSeries: boolean;
}>;


export type RetryInsightsQuery = { retryInsights: Array<{ key: string | null, title: string | null, attempts: number, failed: number, retries: number, chainsSaved: number, chainsLost: number, runningSecondsLost: number, waitingSeconds: number, medianSecondsToSuccess: number | null, effectiveShare: number | null, successByRetry: Array<{ retry: number, succeeded: number, failed: number, stopped: number, share: number | null, cumulative: number }>, slotSecondsLost: SlotTimesFragment, series?: Array<{ from: string, attempts: number, failed: number, runningSecondsLost: number, slotSecondsLost: SlotTimesFragment }> }> };

export type UsageQueryVariables = Exact<{
  filter?: Types.SessionFilter | null | undefined;
  window?: Types.TimeWindow | null | undefined;
  groupBy: Types.UsageGrouping;
  labelKey?: string | null | undefined;
  first?: number | null | undefined;
}>;


export type UsageQuery = { usage: Array<{ key: string | null, title: string | null, sessions: number, runningSeconds: number, cpuSecondsUsed: number, slotSeconds: SlotTimesFragment }> };

export type RulesFragment = { failureRules: Array<{ pattern: string, name: string }> };

export type FailureRulesQueryVariables = Exact<{
  project: string;
}>;


export type FailureRulesQuery = { project: RulesFragment | null };

export type SetFailureRulesMutationVariables = Exact<{
  input: Types.SetFailureRulesInput;
}>;


export type SetFailureRulesMutation = { setFailureRules:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'SetFailureRulesPayload', project: RulesFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

type Failure_ConflictError_Fragment = { __typename: 'ConflictError', code: Types.ErrorCode, message: string, existing:
    | { __typename: 'Agent', id: string }
    | { __typename: 'AuditEntry', id: string }
    | { __typename: 'BulkAction', id: string }
    | { __typename: 'BulkActionItem', id: string }
    | { __typename: 'Chain', id: string }
    | { __typename: 'Deployment', id: string }
    | { __typename: 'DeploymentRevision', id: string }
    | { __typename: 'Domain', id: string }
    | { __typename: 'Kernel', id: string }
    | { __typename: 'Project', id: string }
    | { __typename: 'ProjectMember', id: string }
    | { __typename: 'Quota', id: string }
    | { __typename: 'ResourceGroup', id: string }
    | { __typename: 'Resubmission', id: string }
    | { __typename: 'ResubmissionItem', id: string }
    | { __typename: 'RetryDecision', id: string }
    | { __typename: 'RetryDefaults', id: string }
    | { __typename: 'RetrySwitch', id: string }
    | { __typename: 'Route', id: string }
    | { __typename: 'Schedule', id: string }
    | { __typename: 'ScheduleRun', id: string }
    | { __typename: 'Session', id: string }
    | { __typename: 'Token', id: string }
    | { __typename: 'User', id: string }
    | { __typename: 'Webhook', id: string }
    | { __typename: 'WebhookDelivery', id: string }
   | null };

type Failure_ForbiddenError_Fragment = { __typename: 'ForbiddenError', code: Types.ErrorCode, message: string };

type Failure_InvalidStateError_Fragment = { __typename: 'InvalidStateError', code: Types.ErrorCode, message: string, childSession: { sessionId: string } | null };

type Failure_NotFoundError_Fragment = { __typename: 'NotFoundError', code: Types.ErrorCode, message: string };

type Failure_QuotaExceededError_Fragment = { __typename: 'QuotaExceededError', code: Types.ErrorCode, message: string };

type Failure_ValidationError_Fragment = { __typename: 'ValidationError', code: Types.ErrorCode, message: string, issues: Array<{ path: string, message: string }> };

export type FailureFragment =
  | Failure_ConflictError_Fragment
  | Failure_ForbiddenError_Fragment
  | Failure_InvalidStateError_Fragment
  | Failure_NotFoundError_Fragment
  | Failure_QuotaExceededError_Fragment
  | Failure_ValidationError_Fragment
;

export type SessionSummaryFragment = { sessionId: string, creationId: string, name: string, sessionType: Types.SessionType, status: Types.SessionStatus, result: Types.SessionResult, statusReason: string | null, pendingReason: string | null, progress: string | null, progressAt: string | null, impossible: boolean, exitCode: number | null, failureCause: Types.FailureCause | null, failureReason: string | null, timedOut: boolean, batchTimeout: number | null, chainId: string, attempt: number, epoch: number, origin: Types.SessionOrigin, retryCount: number, maxRetries: number, retryCause: Types.FailureCause | null, priority: number, user: string | null, createdAt: string, startedAt: string | null, terminatedAt: string | null, statusChangedAt: string, project: { name: string }, resourceGroup: { name: string }, labels: Array<{ key: string, value: string }>, retryState: { phase: Types.RetryPhase, attempt: number, maxAttempts: number, label: string, reason: string | null, dueAt: string | null, delaySeconds: number | null } };

export type UsageFragment = { peakMemoryBytes: number | null, cpuSeconds: number | null, wallSeconds: number | null, source: Types.UsageSource };

export type KernelSummaryFragment = { id: string, kernelId: string, role: Types.KernelRole, index: number, host: string | null, slurmJobId: string | null, status: Types.KernelStatus, exitCode: number | null, oomKilled: boolean, reason: string | null, startedAt: string | null, terminatedAt: string | null, exitSignal: { name: string, number: number } | null, usage: UsageFragment | null, agent: { agentId: string, name: string } | null };

export type DecisionFragment = { sessionId: string, chainId: string, phase: Types.RetryPhase, cause: Types.FailureCause | null, matchedRule: number | null, counted: boolean, explanation: string, baseDelaySeconds: number | null, jitterSeconds: number | null, delaySeconds: number | null, dueAt: string | null, holdReason: Types.HoldReason | null, decidedAt: string, dispatchedAt: string | null, childSession: { sessionId: string } | null };

export type AttemptFragment = (
  { exitSignal: { name: string, number: number } | null, usage: UsageFragment | null, checkpoint: { state: Types.CheckpointState, fromAttempt: number | null, bytes: number | null, store: string | null, publishedAt: string | null, note: string | null }, parentSession: { sessionId: string, imageDigest: string | null } | null, kernels: Array<KernelSummaryFragment>, retryDecision: DecisionFragment | null }
  & SessionSummaryFragment
);

export type PolicyFragment = { maxRetries: number, delays: Array<number> | null, retryDelay: number, backoff: Types.RetryBackoff, backoffMultiplier: number, maxRetryDelay: number | null, jitter: Types.RetryJitter, jitterRatio: number, eligibleCauses: Array<Types.FailureCause>, emitRetryEvents: boolean, maxElapsed: number | null, countPreStartFailures: boolean, maxUncountedRetries: number, trustVerdicts: boolean, checkpoint: Types.CheckpointWish, checkpointWait: number, pinImage: boolean, oomIsFailure: boolean, progressTimeout: number | null, rules: Array<RuleFragment>, sources: Array<{ field: Types.RetryPolicyField, source: Types.RetryPolicyLayer }> };

export type PartialPolicyFragment = { given: Array<Types.RetryPolicyField>, maxRetries: number | null, delays: Array<number> | null, retryDelay: number | null, backoff: Types.RetryBackoff | null, backoffMultiplier: number | null, maxRetryDelay: number | null, jitter: Types.RetryJitter | null, jitterRatio: number | null, eligibleCauses: Array<Types.FailureCause> | null, emitRetryEvents: boolean | null, maxElapsed: number | null, countPreStartFailures: boolean | null, maxUncountedRetries: number | null, trustVerdicts: boolean | null, checkpoint: Types.CheckpointWish | null, checkpointWait: number | null, pinImage: boolean | null, oomIsFailure: boolean | null, progressTimeout: number | null, rules: Array<RuleFragment> | null };

export type RuleFragment = { action: Types.RetryRuleAction, avoid: Types.RetryAvoidance | null, exclude: Types.RetryExclusion | null, delay: number | null, match: { causes: Array<Types.FailureCause> | null, exitCodes: Array<number | string> | null, exitCodesNotIn: Array<number | string> | null, reason: string | null }, scaleResources: Array<{ slot: string, from: Types.RetryGrowthStart | null, factor: number, max: string | null }> | null, scaleGpuMemory: { factor: number, max: string | null } | null, scaleTimeout: { factor: number, max: number | null } | null };

export type OutputsSummaryFragment = { state: Types.OutputsState, id: string | null, bytes: number, fileCount: number, reasons: Array<string>, completedAt: string | null, expiresAt: string | null, pinned: boolean, paths: Array<string>, when: Types.OutputsWhen, keepDays: number | null, place: { node: string, directory: string } | null };

export type SessionDetailFragment = (
  { image: string | null, command: Array<string>, secretEnviron: Array<string>, codeSha256: string | null, imageDigest: string | null, requiredImageDigest: string | null, concurrencyKey: string | null, concurrencyLimit: number | null, clusterMode: Types.ClusterMode, clusterSize: number, batchTimeout: number | null, onHang: Array<string>, neverRunTwice: boolean, stopGrace: number | null, maxPending: number | null, startsAt: string | null, environ: Array<{ name: string, value: string }>, requiredGpus: { model: string | null, memoryBytes: number | null } | null, gpus: Array<{ uuid: string, index: number, name: string }>, gpuUsage: { peakMemoryBytes: number | null, meanUtilization: number | null, peakUtilization: number | null, energyJoules: number | null, gpuSeconds: number } | null, executorOptions: Array<{ key: string, value: string }>, mounts: Array<{ volume: string, path: string, readOnly: boolean }>, outputs: OutputsSummaryFragment | null, inputs: Array<{ from: string, match: string | null, to: string | null }>, resourceSlots: Array<{ slot: string, amount: string }>, childSession: { sessionId: string } | null, retryPolicy: PolicyFragment, retryChain: Array<AttemptFragment> }
  & AttemptFragment
);

export type GroupSummaryFragment = { groupId: string, key: string | null, name: string, state: Types.SessionGroupState, outcome: Types.SessionGroupOutcome | null, reason: string | null, progress: number, epoch: number, maxFailed: number | null, maxFailedPercent: number | null, minSucceeded: number | null, maxRunning: number | null, onFailure: Types.SessionGroupRest, createdBy: string | null, createdAt: string, endedAt: string | null, project: { name: string }, counts: { queued: number, running: number, waiting: number, succeeded: number, failed: number, cancelled: number, total: number }, dependsOn: Array<{ condition: Types.SessionGroupCondition, met: boolean | null, group: { groupId: string, name: string } | null }> };

export type SessionGroupQueryVariables = Exact<{
  id?: string | null | undefined;
  key?: string | null | undefined;
  project?: string | null | undefined;
}>;


export type SessionGroupQuery = { sessionGroup: GroupSummaryFragment | null };

export type SessionGroupsQueryVariables = Exact<{
  filter?: Types.SessionGroupFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type SessionGroupsQuery = { sessionGroups: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: GroupSummaryFragment }> } };

export type CreateGroupMutationVariables = Exact<{
  input: Types.CreateSessionsInput;
}>;


export type CreateGroupMutation = { createSessions:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'CreateSessionsPayload', created: boolean, group: GroupSummaryFragment | null }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & Failure_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type AddSessionsMutationVariables = Exact<{
  input: Types.AddSessionsInput;
}>;


export type AddSessionsMutation = { addSessions:
    | { __typename: 'AddSessionsPayload', added: number, group: GroupSummaryFragment }
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & Failure_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type CancelSessionGroupMutationVariables = Exact<{
  input: Types.CancelSessionGroupInput;
}>;


export type CancelSessionGroupMutation = { cancelSessionGroup:
    | { __typename: 'CancelSessionGroupPayload', group: GroupSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ResubmitSessionGroupMutationVariables = Exact<{
  input: Types.ResubmitSessionGroupInput;
}>;


export type ResubmitSessionGroupMutation = { resubmitSessionGroup:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'ResubmitSessionGroupPayload', cancelledDependents: number, bulkAction: BulkActionSummaryFragment, sessions: Array<SessionSummaryFragment>, refused: Array<{ sessionId: string, code: Types.ErrorCode, message: string, childSession: { sessionId: string } | null }>, group: GroupSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type BacktestOutcomesFragment = { same: { chains: number, laterSeconds: number }, earlier: { chains: number, attempts: number, slotSeconds: number, seconds: number, successesLost: number, exampleChainIds: Array<string>, lost: Array<{ name: string, project: string, successes: number, exampleChainIds: Array<string> }> }, longer: { chains: number, attempts: number, slotSeconds: number, exampleChainIds: Array<string>, expected: { successes: number, low: number, high: number, chains: number, comparable: number } }, unknown: Array<{ reason: Types.BacktestUnknownReason, chains: number, attempts: number, slotSeconds: number, exampleChainIds: Array<string> }> };

export type RetryBacktestFragment = { from: string, to: string, isComplete: boolean, recorded: { chains: number, attempts: number, slotSeconds: number, succeeded: number }, outcomes: BacktestOutcomesFragment, airflow: { outcomes: BacktestOutcomesFragment, explanation: { alike: Array<string>, differs: Array<string> } } | null };

export type RetryBacktestProgressSubscriptionVariables = Exact<{
  policy: Types.RetryPolicyInput;
  base?: Types.BacktestBase | null | undefined;
  airflow?: Types.AirflowSettingsInput | null | undefined;
  filter?: Types.SessionFilter | null | undefined;
  window?: Types.TimeWindow | null | undefined;
}>;


export type RetryBacktestProgressSubscription = { retryBacktestProgress: { share: number, chains: number, backtest: RetryBacktestFragment | null } };

export type RetryAdviceSummaryFragment = { adviceId: string, kind: Types.RetryAdviceKind, finding: string, change: string, evidenceCount: number, slotSecondsWasted: number, gibHoursWasted: number, exampleChainIds: Array<string>, canApply: boolean, foundAt: string, state: Types.RetryAdviceState, stateBy: string | null, stateAt: string | null, project: { name: string } | null, patch: { name: string | null, memoryBytes: number | null, batchTimeout: number | null, drainAgentId: string | null, takeGpu: string | null, policy: PartialPolicyFragment | null, breaker: { failures: number, chains: number, window: number } | null } };

export type RetryAdviceQueryVariables = Exact<{
  scope: Types.RetryScope;
  name?: string | null | undefined;
  states?: Array<Types.RetryAdviceState> | Types.RetryAdviceState | null | undefined;
  adviceId?: string | null | undefined;
  withBacktest: boolean;
}>;


export type RetryAdviceQuery = { retryAdvice: Array<(
    { backtest?: RetryBacktestFragment | null }
    & RetryAdviceSummaryFragment
  )> };

export type ApplyRetryAdviceMutationVariables = Exact<{
  input: Types.ApplyRetryAdviceInput;
}>;


export type ApplyRetryAdviceMutation = { applyRetryAdvice:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'RetryAdvicePayload', advice: RetryAdviceSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type DismissRetryAdviceMutationVariables = Exact<{
  input: Types.DismissRetryAdviceInput;
}>;


export type DismissRetryAdviceMutation = { dismissRetryAdvice:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'RetryAdvicePayload', advice: RetryAdviceSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ChainOutputsQueryVariables = Exact<{
  id: string;
}>;


export type ChainOutputsQuery = { session: { name: string, retryChain: Array<{ sessionId: string, chainId: string, attempt: number, status: Types.SessionStatus, result: Types.SessionResult, retryState: { phase: Types.RetryPhase }, outputs: OutputsSummaryFragment | null }> } | null };

export type OutputFilesQueryVariables = Exact<{
  id: string;
  match?: string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type OutputFilesQuery = { session: { outputs: { files: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { path: string, bytes: number, sha256: string, executable: boolean, linkTarget: string | null, modifiedAt: string | null } }> } } | null } | null };

export type BulkActionSummaryFragment = { bulkActionId: string, clientKey: string, action: Types.SessionAction, actor: string, state: Types.BulkActionState, total: number, done: number, pending: number, refusedCount: number, createdAt: string, finishedAt: string | null, abortedBy: string | null };

export type ResubmitSessionsMutationVariables = Exact<{
  input: Types.ResubmitSessionsInput;
}>;


export type ResubmitSessionsMutation = { resubmitSessions:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'DryRun', total: number, count: number, cancelledDependents: number, refusals: Array<{ code: Types.ErrorCode, count: number, message: string }>, sessions: Array<SessionSummaryFragment> }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | { __typename: 'ResubmitSessionsPayload', cancelledDependents: number, bulkAction: BulkActionSummaryFragment, sessions: Array<SessionSummaryFragment>, refused: Array<{ sessionId: string, code: Types.ErrorCode, message: string, childSession: { sessionId: string } | null }> }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type AbortBulkActionMutationVariables = Exact<{
  input: Types.AbortBulkActionInput;
}>;


export type AbortBulkActionMutation = { abortBulkAction:
    | { __typename: 'AbortBulkActionPayload', bulkAction: BulkActionSummaryFragment }
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type BulkActionQueryVariables = Exact<{
  id: string;
}>;


export type BulkActionQuery = { bulkAction: BulkActionSummaryFragment | null };

export type BulkActionRefusalsQueryVariables = Exact<{
  id: string;
}>;


export type BulkActionRefusalsQuery = { bulkAction: { refusals: Array<{ code: Types.ErrorCode, count: number, message: string }> } | null };

export type BulkActionsQueryVariables = Exact<{
  filter?: Types.BulkActionFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type BulkActionsQuery = { bulkActions: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: BulkActionSummaryFragment }> } };

export type BulkActionItemsQueryVariables = Exact<{
  id: string;
  status?: Types.BulkActionItemStatus | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type BulkActionItemsQuery = { bulkAction: { items: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { position: number, sessionId: string, status: Types.BulkActionItemStatus, childSessionId: string | null, code: Types.ErrorCode | null, message: string | null, session: { chainId: string } | null } }> } } | null };

export type TerminateSessionsMutationVariables = Exact<{
  input: Types.TerminateSessionsInput;
}>;


export type TerminateSessionsMutation = { terminateSessions:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'DryRun', total: number, count: number, refusals: Array<{ code: Types.ErrorCode, count: number, message: string }>, sessions: Array<SessionSummaryFragment> }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | { __typename: 'TerminateSessionsPayload', bulkAction: BulkActionSummaryFragment, sessions: Array<SessionSummaryFragment>, refused: Array<{ sessionId: string, code: Types.ErrorCode, message: string, childSession: { sessionId: string } | null }> }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type CancelRetriesMutationVariables = Exact<{
  input: Types.CancelRetriesInput;
}>;


export type CancelRetriesMutation = { cancelRetries:
    | { __typename: 'CancelRetriesPayload', bulkAction: BulkActionSummaryFragment, sessions: Array<SessionSummaryFragment>, refused: Array<{ sessionId: string, code: Types.ErrorCode, message: string, childSession: { sessionId: string } | null }> }
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'DryRun', total: number, count: number, refusals: Array<{ code: Types.ErrorCode, count: number, message: string }>, sessions: Array<SessionSummaryFragment> }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type RetryNowManyMutationVariables = Exact<{
  input: Types.RetryNowManyInput;
}>;


export type RetryNowManyMutation = { retryNowMany:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'DryRun', total: number, count: number, refusals: Array<{ code: Types.ErrorCode, count: number, message: string }>, sessions: Array<SessionSummaryFragment> }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | { __typename: 'RetryNowManyPayload', bulkAction: BulkActionSummaryFragment, sessions: Array<SessionSummaryFragment>, refused: Array<{ sessionId: string, code: Types.ErrorCode, message: string, childSession: { sessionId: string } | null }> }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type PlannedFragment = { retry: number, delaySeconds: number, earliestSeconds: number, latestSeconds: number, elapsedSeconds: number, batchTimeout: number | null, gpuMemoryBytes: number | null, resourceSlots: Array<{ slot: string, amount: string }> };

export type RetryPolicyPreviewQueryVariables = Exact<{
  policy: Types.RetryPolicyInput;
  cause?: Types.FailureCause | null | undefined;
  exitCode?: number | null | undefined;
  sessionId?: string | null | undefined;
  project?: string | null | undefined;
}>;


export type RetryPolicyPreviewQuery = { retryPolicyPreview: { eligible: boolean, explanation: string, schedule: Array<PlannedFragment>, sources: Array<{ field: Types.RetryPolicyField, source: Types.RetryPolicyLayer }> } };

export type RetryPolicyTrialQueryVariables = Exact<{
  policy: Types.RetryPolicyInput;
  sessionIds?: Array<string> | string | null | undefined;
  filter?: Types.SessionFilter | null | undefined;
  window?: Types.TimeWindow | null | undefined;
  first?: number | null | undefined;
}>;


export type RetryPolicyTrialQuery = { retryPolicyPreview: { trial: { matched: number, tried: number, counts: Array<{ phase: Types.RetryPhase, counted: boolean, matchedRule: number | null, count: number }>, decisions: Array<{ sessionId: string, chainId: string, name: string, project: string, attempt: number, endedAt: string, cause: Types.FailureCause | null, phase: Types.RetryPhase, matchedRule: number | null, counted: boolean, reason: string, delaySeconds: number | null, batchTimeout: number | null, gpuMemoryBytes: number | null, recordedPhase: Types.RetryPhase | null, resourceSlots: Array<{ slot: string, amount: string }> }> } | null } };

export type AirflowPolicyPreviewQueryVariables = Exact<{
  settings: Types.AirflowSettingsInput;
}>;


export type AirflowPolicyPreviewQuery = { airflowPolicyPreview: { policy: PolicyFragment, schedule: Array<PlannedFragment>, airflowDelays: Array<{ retry: number, delaySeconds: number, earliestSeconds: number, latestSeconds: number, elapsedSeconds: number }>, explanation: { alike: Array<string>, differs: Array<string> } } };

export type RetryDecisionsQueryVariables = Exact<{
  filter?: Types.RetryDecisionFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type RetryDecisionsQuery = { retryDecisions: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: DecisionFragment }> } };

export type DefaultsFragment = { scope: Types.RetryScope, name: string | null, policy: PartialPolicyFragment | null };

export type RetryDefaultsQueryVariables = Exact<{ [key: string]: never; }>;


export type RetryDefaultsQuery = { retryDefaults: Array<DefaultsFragment> };

export type SetRetryDefaultsMutationVariables = Exact<{
  input: Types.SetRetryDefaultsInput;
}>;


export type SetRetryDefaultsMutation = { setRetryDefaults:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'SetRetryDefaultsPayload', retryDefaults: DefaultsFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type SwitchFragment = { scope: Types.RetryScope, name: string | null, disabled: boolean, disabledUntil: string | null, rateLimitUntil: string | null, disabledChange: { at: string, by: string, reason: string | null } | null, rateLimit: { perSecond: number, burst: number } | null, rateLimitChange: { at: string, by: string, reason: string | null } | null, breaker: { failures: number, chains: number, window: number } | null };

export type RetrySwitchesQueryVariables = Exact<{ [key: string]: never; }>;


export type RetrySwitchesQuery = { retrySwitches: Array<SwitchFragment> };

export type SetRetrySwitchMutationVariables = Exact<{
  input: Types.SetRetrySwitchInput;
}>;


export type SetRetrySwitchMutation = { setRetrySwitch:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'SetRetrySwitchPayload', retrySwitch: SwitchFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ScheduleRunSummaryFragment = { runId: string, plannedAt: string, lastPlannedAt: string, count: number, outcome: Types.ScheduleRunOutcome, code: Types.ErrorCode | null, reason: string | null, askedBy: string | null, decidedAt: string, chainId: string | null };

export type ScheduleSummaryFragment = { scheduleId: string, name: string, cron: string | null, every: number | null, timeZone: string, overlap: Types.ScheduleOverlap, catchUp: number, jitter: number, paused: boolean, pausedAt: string | null, pausedBy: string | null, pauseReason: string | null, statusReason: string | null, nextRunAt: string | null, queued: number, owner: string, createdBy: string, createdAt: string, updatedAt: string, project: { name: string } };

export type ScheduleDetailFragment = (
  { nextRuns: Array<string>, session: { name: string, sessionType: Types.SessionType, resourceGroup: string, image: string | null, command: Array<string>, secretEnviron: Array<string>, clusterSize: number, clusterMode: Types.ClusterMode, batchTimeout: number | null, gpuIdleTimeout: number | null, onHang: Array<string>, neverRunTwice: boolean, stopGrace: number | null, maxPending: number | null, priority: number, codeSha256: string | null, allowAgents: Array<string>, avoidAgents: Array<string>, excludeAgents: Array<string>, concurrencyKey: string | null, concurrencyLimit: number | null, maxRetries: number | null, environ: Array<{ name: string, value: string }>, resourceSlots: Array<{ slot: string, amount: string }>, labels: Array<{ key: string, value: string }>, gpus: { model: string | null, memory: string | null } | null, agentLabels: Array<{ key: string, value: string }>, executorOptions: Array<{ key: string, value: string }>, mounts: Array<{ volume: string, path: string, readOnly: boolean }>, retryPolicy: PartialPolicyFragment } | null, lastRuns: Array<(
    { session: { chain: { state: Types.ChainState } } | null }
    & ScheduleRunSummaryFragment
  )> }
  & ScheduleSummaryFragment
);

export type SchedulesQueryVariables = Exact<{
  filter?: Types.ScheduleFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type SchedulesQuery = { schedules: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: ScheduleSummaryFragment }> } };

export type ScheduleQueryVariables = Exact<{
  id: string;
}>;


export type ScheduleQuery = { schedule: ScheduleDetailFragment | null };

export type ScheduleRunsQueryVariables = Exact<{
  scheduleId: string;
  outcome?: Array<Types.ScheduleRunOutcome> | Types.ScheduleRunOutcome | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ScheduleRunsQuery = { scheduleRuns: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: (
        { session: { chain: { state: Types.ChainState } } | null }
        & ScheduleRunSummaryFragment
      ) }> } };

export type CreateScheduleMutationVariables = Exact<{
  input: Types.CreateScheduleInput;
}>;


export type CreateScheduleMutation = { createSchedule:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'CreateSchedulePayload', schedule: ScheduleDetailFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & Failure_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type UpdateScheduleMutationVariables = Exact<{
  input: Types.UpdateScheduleInput;
}>;


export type UpdateScheduleMutation = { updateSchedule:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'UpdateSchedulePayload', schedule: ScheduleDetailFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type PauseScheduleMutationVariables = Exact<{
  input: Types.PauseScheduleInput;
}>;


export type PauseScheduleMutation = { pauseSchedule:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'PauseSchedulePayload', schedule: ScheduleDetailFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ResumeScheduleMutationVariables = Exact<{
  input: Types.ResumeScheduleInput;
}>;


export type ResumeScheduleMutation = { resumeSchedule:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'ResumeSchedulePayload', schedule: ScheduleDetailFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type RunScheduleNowMutationVariables = Exact<{
  input: Types.RunScheduleNowInput;
}>;


export type RunScheduleNowMutation = { runScheduleNow:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & Failure_QuotaExceededError_Fragment
    )
    | { __typename: 'RunScheduleNowPayload', created: boolean, run: ScheduleRunSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type DeleteScheduleMutationVariables = Exact<{
  input: Types.DeleteScheduleInput;
}>;


export type DeleteScheduleMutation = { deleteSchedule:
    | { __typename: 'DeleteSchedulePayload', scheduleId: string }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type SessionStatisticsQueryVariables = Exact<{
  from?: string | null | undefined;
  to?: string | null | undefined;
  bucketSeconds?: number | null | undefined;
  project?: string | null | undefined;
  resourceGroup?: string | null | undefined;
  user?: string | null | undefined;
  name?: string | null | undefined;
  label?: Types.LabelInput | null | undefined;
  sessionType?: Array<Types.SessionType> | Types.SessionType | null | undefined;
}>;


export type SessionStatisticsQuery = { sessionStatistics: { from: string, to: string, bucketSeconds: number, total: FiguresFragment, byCause: Array<{ cause: Types.FailureCause, failed: number, timedOut: number, retries: number, retriesSucceeded: number }>, byStatus: Array<{ status: Types.SessionStatus, count: number }>, usage: Array<{ result: Types.SessionResult, sessions: number, peakMemoryBytes: number | null, cpuSeconds: number | null, wallSeconds: number | null }>, buckets: Array<{ from: string, to: string, figures: FiguresFragment }> } };

export type FiguresFragment = { ended: number, succeeded: number, failed: number, cancelled: number, retries: number, retriesSucceeded: number, retryRate: number | null, retrySuccessRate: number | null, held: number | null, waiting: number | null };

export type SessionQueryVariables = Exact<{
  id: string;
}>;


export type SessionQuery = { session: SessionDetailFragment | null };

export type SessionsQueryVariables = Exact<{
  filter?: Types.SessionFilter | null | undefined;
  orderBy?: Array<Types.SessionOrder> | Types.SessionOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  withTotal?: boolean | null | undefined;
}>;


export type SessionsQuery = { sessions: { totalCount?: number, totalCountIsExact?: boolean, pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: (
        { usage: UsageFragment | null }
        & SessionSummaryFragment
      ) }> } };

export type SessionHistoryQueryVariables = Exact<{
  id: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type SessionHistoryQuery = { session: { schedulingHistory: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { handler: Types.SchedulingHandler, fromStatus: Types.EntityStatus | null, toStatus: Types.EntityStatus | null, result: Types.SchedulingResult, errorCode: string | null, message: string | null, attempts: number, firstAt: string, lastAt: string, agents: Array<{ agentId: string, name: string }> } }> } } | null };

export type CreateSessionMutationVariables = Exact<{
  input: Types.CreateSessionInput;
}>;


export type CreateSessionMutation = { createSession:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'CreateSessionPayload', created: boolean, session: SessionSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & Failure_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type CreateSessionsMutationVariables = Exact<{
  input: Types.CreateSessionsInput;
}>;


export type CreateSessionsMutation = { createSessions:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'CreateSessionsPayload', results: Array<
        | (
          { __typename: 'ConflictError' }
          & Failure_ConflictError_Fragment
        )
        | { __typename: 'CreateSessionPayload', created: boolean, session: SessionSummaryFragment }
        | (
          { __typename: 'ForbiddenError' }
          & Failure_ForbiddenError_Fragment
        )
        | (
          { __typename: 'NotFoundError' }
          & Failure_NotFoundError_Fragment
        )
        | (
          { __typename: 'QuotaExceededError' }
          & Failure_QuotaExceededError_Fragment
        )
        | (
          { __typename: 'ValidationError' }
          & Failure_ValidationError_Fragment
        )
      > }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & Failure_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type TerminateSessionMutationVariables = Exact<{
  input: Types.TerminateSessionInput;
}>;


export type TerminateSessionMutation = { terminateSession:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'TerminateSessionPayload', session: SessionSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type CancelRetryMutationVariables = Exact<{
  input: Types.CancelRetryInput;
}>;


export type CancelRetryMutation = { cancelRetry:
    | { __typename: 'CancelRetryPayload', session: SessionSummaryFragment }
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type RetryNowMutationVariables = Exact<{
  input: Types.RetryNowInput;
}>;


export type RetryNowMutation = { retryNow:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'RetryNowPayload', session: SessionSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type UpdateRetryMutationVariables = Exact<{
  input: Types.UpdateRetryInput;
}>;


export type UpdateRetryMutation = { updateRetry:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'UpdateRetryPayload', session: SessionSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type KernelLogTailQueryVariables = Exact<{
  id: string | number;
  last?: number | null | undefined;
  before?: string | null | undefined;
  since?: string | null | undefined;
}>;


export type KernelLogTailQuery = { node:
    | { __typename: 'Agent' }
    | { __typename: 'AuditEntry' }
    | { __typename: 'BulkAction' }
    | { __typename: 'BulkActionItem' }
    | { __typename: 'Chain' }
    | { __typename: 'Deployment' }
    | { __typename: 'DeploymentRevision' }
    | { __typename: 'Domain' }
    | { __typename: 'Kernel', logs: { pageInfo: { hasPreviousPage: boolean, startCursor: string | null }, edges: Array<{ cursor: string, node: { cursor: string, stream: Types.LogStream, text: string, at: string } }> } }
    | { __typename: 'Project' }
    | { __typename: 'ProjectMember' }
    | { __typename: 'Quota' }
    | { __typename: 'ResourceGroup' }
    | { __typename: 'Resubmission' }
    | { __typename: 'ResubmissionItem' }
    | { __typename: 'RetryDecision' }
    | { __typename: 'RetryDefaults' }
    | { __typename: 'RetrySwitch' }
    | { __typename: 'Route' }
    | { __typename: 'Schedule' }
    | { __typename: 'ScheduleRun' }
    | { __typename: 'Session' }
    | { __typename: 'Token' }
    | { __typename: 'User' }
    | { __typename: 'Webhook' }
    | { __typename: 'WebhookDelivery' }
   | null };

export type KernelLogPageQueryVariables = Exact<{
  id: string | number;
  first?: number | null | undefined;
  after?: string | null | undefined;
  since?: string | null | undefined;
}>;


export type KernelLogPageQuery = { node:
    | { __typename: 'Agent' }
    | { __typename: 'AuditEntry' }
    | { __typename: 'BulkAction' }
    | { __typename: 'BulkActionItem' }
    | { __typename: 'Chain' }
    | { __typename: 'Deployment' }
    | { __typename: 'DeploymentRevision' }
    | { __typename: 'Domain' }
    | { __typename: 'Kernel', logs: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { cursor: string, stream: Types.LogStream, text: string, at: string } }> } }
    | { __typename: 'Project' }
    | { __typename: 'ProjectMember' }
    | { __typename: 'Quota' }
    | { __typename: 'ResourceGroup' }
    | { __typename: 'Resubmission' }
    | { __typename: 'ResubmissionItem' }
    | { __typename: 'RetryDecision' }
    | { __typename: 'RetryDefaults' }
    | { __typename: 'RetrySwitch' }
    | { __typename: 'Route' }
    | { __typename: 'Schedule' }
    | { __typename: 'ScheduleRun' }
    | { __typename: 'Session' }
    | { __typename: 'Token' }
    | { __typename: 'User' }
    | { __typename: 'Webhook' }
    | { __typename: 'WebhookDelivery' }
   | null };

export type KernelLogsSubscriptionVariables = Exact<{
  kernelId: string;
  after?: string | null | undefined;
}>;


export type KernelLogsSubscription = { kernelLogs: { cursor: string, stream: Types.LogStream, text: string, at: string } };

export type SessionKernelsQueryVariables = Exact<{
  id: string;
}>;


export type SessionKernelsQuery = { session: { sessionId: string, attempt: number, kernels: Array<{ id: string, kernelId: string, role: Types.KernelRole, index: number }> } | null };

export type FailureCountsQueryVariables = Exact<{
  by: Types.FailureGrouping;
  from?: string | null | undefined;
  to?: string | null | undefined;
  project?: string | null | undefined;
  resourceGroup?: string | null | undefined;
  user?: string | null | undefined;
  name?: string | null | undefined;
  label?: Types.LabelInput | null | undefined;
  sessionType?: Array<Types.SessionType> | Types.SessionType | null | undefined;
  cause?: Array<Types.FailureCause> | Types.FailureCause | null | undefined;
  timedOut?: boolean | null | undefined;
  first?: number | null | undefined;
}>;


export type FailureCountsQuery = { failureCounts: Array<{ cause: Types.FailureCause | null, timedOut: boolean | null, exitCode: number | null, name: string | null, agentId: string | null, agentName: string | null, failed: number, chains: number, lost: number, latestAt: string, label: { key: string, value: string } | null }> };

export type QueueQueryVariables = Exact<{
  resourceGroup: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type QueueQuery = { queue: { edges: Array<{ node: { sessionId: string, chainId: string, name: string, attempt: number, priority: number, createdAt: string, project: { name: string }, queuePlace: { before: number | null, expectedStartAt: string | null, whyUnknown: string | null } | null } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type WebhookSummaryFragment = { webhookId: string, url: string, description: string, eventTypes: Array<string>, chainId: string | null, enabled: boolean, disabledAt: string | null, disabledReason: string | null, failingSince: string | null, restingUntil: string | null, lastDeliveredAt: string | null, previousSecretExpiresAt: string | null, createdAt: string, project: { name: string } | null, labels: Array<{ key: string, value: string }> };

export type DeliveryFragment = { deliveryId: string, messageId: string, eventType: string, status: Types.WebhookDeliveryStatus, sessionId: string | null, chainId: string | null, occurredAt: string, createdAt: string, nextAttemptAt: string | null, finishedAt: string | null, attempts: Array<{ number: number, startedAt: string, durationSeconds: number, statusCode: number | null, error: string | null, response: string | null }> };

export type WebhooksQueryVariables = Exact<{
  project?: string | null | undefined;
  enabled?: boolean | null | undefined;
  idPrefix?: string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type WebhooksQuery = { webhooks: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: WebhookSummaryFragment }> } };

export type WebhookDeliveriesQueryVariables = Exact<{
  webhookId: string;
  status?: Array<Types.WebhookDeliveryStatus> | Types.WebhookDeliveryStatus | null | undefined;
  idPrefix?: string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type WebhookDeliveriesQuery = { webhookDeliveries: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: DeliveryFragment }> } };

export type CreateWebhookMutationVariables = Exact<{
  input: Types.CreateWebhookInput;
}>;


export type CreateWebhookMutation = { createWebhook:
    | { __typename: 'CreateWebhookPayload', secret: string, webhook: WebhookSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & Failure_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type UpdateWebhookMutationVariables = Exact<{
  input: Types.UpdateWebhookInput;
}>;


export type UpdateWebhookMutation = { updateWebhook:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'UpdateWebhookPayload', webhook: WebhookSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type DeleteWebhookMutationVariables = Exact<{
  input: Types.DeleteWebhookInput;
}>;


export type DeleteWebhookMutation = { deleteWebhook:
    | { __typename: 'DeleteWebhookPayload', webhookId: string }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type RotateWebhookSecretMutationVariables = Exact<{
  input: Types.RotateWebhookSecretInput;
}>;


export type RotateWebhookSecretMutation = { rotateWebhookSecret:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'RotateWebhookSecretPayload', secret: string, webhook: WebhookSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type SendTestEventMutationVariables = Exact<{
  input: Types.SendTestEventInput;
}>;


export type SendTestEventMutation = { sendTestEvent:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'SendTestEventPayload', delivery: DeliveryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ReplayDeliveryMutationVariables = Exact<{
  input: Types.ReplayDeliveryInput;
}>;


export type ReplayDeliveryMutation = { replayDelivery:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'ReplayDeliveryPayload', delivery: DeliveryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ReplayWebhookMutationVariables = Exact<{
  input: Types.ReplayWebhookInput;
}>;


export type ReplayWebhookMutation = { replayWebhook:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'ReplayWebhookPayload', replayed: number, more: boolean }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const TokenSummaryFragmentDoc = new TypedDocumentString(`
    fragment TokenSummary on Token {
  tokenId
  name
  prefix
  role
  resourceGroups
  project {
    name
  }
  user {
    name
  }
  createdAt
  expiresAt
  revokedAt
  lastUsedAt
}
    `, {"fragmentName":"TokenSummary"}) as unknown as TypedDocumentString<TokenSummaryFragment, unknown>;
export const QuotaDetailFragmentDoc = new TypedDocumentString(`
    fragment QuotaDetail on Quota {
  scope
  name
  maxPending
  maxRunning
  maxCheckpointBytes
  maxOutputBytes
  slots {
    slot
    amount
  }
  usage {
    pending
    running
    checkpointBytes
    outputBytes
    slots {
      slot
      amount
    }
  }
}
    `, {"fragmentName":"QuotaDetail"}) as unknown as TypedDocumentString<QuotaDetailFragment, unknown>;
export const GroupTimeoutsFragmentDoc = new TypedDocumentString(`
    fragment GroupTimeouts on ResourceGroup {
  pendingTimeout
  prepareTimeout
  createTimeout
  queueTimeout
  terminateTimeout
  stopGrace
  stopGraceMax
  fenceAfter
}
    `, {"fragmentName":"GroupTimeouts"}) as unknown as TypedDocumentString<GroupTimeoutsFragment, unknown>;
export const GroupExecutorOptionsFragmentDoc = new TypedDocumentString(`
    fragment GroupExecutorOptions on ResourceGroup {
  executorOptions {
    key
    value
  }
  allowedExecutorOptions
}
    `, {"fragmentName":"GroupExecutorOptions"}) as unknown as TypedDocumentString<GroupExecutorOptionsFragment, unknown>;
export const DeploymentSummaryFragmentDoc = new TypedDocumentString(`
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
    `, {"fragmentName":"DeploymentSummary"}) as unknown as TypedDocumentString<DeploymentSummaryFragment, unknown>;
export const DeploymentDetailFragmentDoc = new TypedDocumentString(`
    fragment DeploymentDetail on Deployment {
  ...DeploymentSummary
  statusChangedAt
  createdBy
  failures
  nextRouteAt
  routeCounts {
    status
    count
  }
  revision {
    environ {
      name
      value
    }
    secretEnviron
    resourceSlots {
      slot
      amount
    }
    requiredGpus {
      model
      memoryBytes
    }
    priority
    agentLabels {
      key
      value
    }
    mounts {
      volume
      path
      readOnly
    }
    portVariable
    healthCheck {
      path
      interval
      timeout
      healthyThreshold
      unhealthyThreshold
      initialDelay
      staleAfter
    }
    startTimeout
    evictAfter
    drain
    createdAt
  }
  routes(
    first: 100
    status: [PROVISIONING, DEGRADED, HEALTHY, UNHEALTHY, FAILED_TO_START, TERMINATING]
  ) {
    edges {
      node {
        routeId
        status
        statusReason
        statusChangedAt
        host
        port
        lastCheckFault
        revision {
          number
        }
        session {
          sessionId
          pendingReason
        }
        createdAt
      }
    }
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}`, {"fragmentName":"DeploymentDetail"}) as unknown as TypedDocumentString<DeploymentDetailFragment, unknown>;
export const DeploymentEventFieldsFragmentDoc = new TypedDocumentString(`
    fragment DeploymentEventFields on DeploymentEvent {
  cursor
  type
  occurredAt
  deploymentId
  deployment {
    name
  }
  routeId
  sessionId
  fromStatus
  toStatus
  fromReplicas
  toReplicas
  fromRevision
  revision
  host
  port
  reason
}
    `, {"fragmentName":"DeploymentEventFields"}) as unknown as TypedDocumentString<DeploymentEventFieldsFragment, unknown>;
export const EventFieldsFragmentDoc = new TypedDocumentString(`
    fragment EventFields on SessionEvent {
  cursor
  type
  occurredAt
  sessionId
  chainId
  fromStatus
  toStatus
  attempt
  maxAttempts
  cause
  delaySeconds
  dueAt
  childSessionId
  reason
  chainEnd {
    epoch
    attempts
    cause
    runningSeconds
    waitingSeconds
  }
}
    `, {"fragmentName":"EventFields"}) as unknown as TypedDocumentString<EventFieldsFragment, unknown>;
export const FailureGroupSummaryFragmentDoc = new TypedDocumentString(`
    fragment FailureGroupSummary on FailureGroup {
  failureGroupId
  title
  name
  project {
    name
  }
  cause
  exitCode
  lines
  masked
  maskVersion
  maskChanges {
    version
    since
  }
  rule
  state
  note
  link
  mutedUntil
  stateBy
  stateAt
  regressedAt
  createdAt
  isNew
  attempts
  chains
  firstSeenAt
  lastSeenAt
  succeededLater
  runningSecondsLost
  cpuSecondsLost
  breaker {
    openedAt
    openedBy
    failures
    chains
    held
    probes
    nextProbeAt
  }
}
    `, {"fragmentName":"FailureGroupSummary"}) as unknown as TypedDocumentString<FailureGroupSummaryFragment, unknown>;
export const ComparedSessionFragmentDoc = new TypedDocumentString(`
    fragment ComparedSession on Session {
  sessionId
  name
  chainId
  attempt
  status
  result
  impossible
  exitCode
  failureCause
  failureReason
  statusReason
  pendingReason
  progress
  timedOut
  batchTimeout
  startedAt
  terminatedAt
  imageDigest
  kernels {
    agent {
      name
    }
  }
  usage {
    peakMemoryBytes
    cpuSeconds
  }
}
    `, {"fragmentName":"ComparedSession"}) as unknown as TypedDocumentString<ComparedSessionFragment, unknown>;
export const SlotTimesFragmentDoc = new TypedDocumentString(`
    fragment SlotTimes on SlotSeconds {
  cpu
  mem
  gpu
}
    `, {"fragmentName":"SlotTimes"}) as unknown as TypedDocumentString<SlotTimesFragment, unknown>;
export const RulesFragmentDoc = new TypedDocumentString(`
    fragment Rules on Project {
  failureRules {
    pattern
    name
  }
}
    `, {"fragmentName":"Rules"}) as unknown as TypedDocumentString<RulesFragment, unknown>;
export const FailureFragmentDoc = new TypedDocumentString(`
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
    `, {"fragmentName":"Failure"}) as unknown as TypedDocumentString<FailureFragment, unknown>;
export const SessionSummaryFragmentDoc = new TypedDocumentString(`
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}
    `, {"fragmentName":"SessionSummary"}) as unknown as TypedDocumentString<SessionSummaryFragment, unknown>;
export const UsageFragmentDoc = new TypedDocumentString(`
    fragment Usage on Usage {
  peakMemoryBytes
  cpuSeconds
  wallSeconds
  source
}
    `, {"fragmentName":"Usage"}) as unknown as TypedDocumentString<UsageFragment, unknown>;
export const KernelSummaryFragmentDoc = new TypedDocumentString(`
    fragment KernelSummary on Kernel {
  id
  kernelId
  role
  index
  host
  slurmJobId
  status
  exitCode
  exitSignal {
    name
    number
  }
  usage {
    ...Usage
  }
  oomKilled
  reason
  agent {
    agentId
    name
  }
  startedAt
  terminatedAt
}
    fragment Usage on Usage {
  peakMemoryBytes
  cpuSeconds
  wallSeconds
  source
}`, {"fragmentName":"KernelSummary"}) as unknown as TypedDocumentString<KernelSummaryFragment, unknown>;
export const DecisionFragmentDoc = new TypedDocumentString(`
    fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}
    `, {"fragmentName":"Decision"}) as unknown as TypedDocumentString<DecisionFragment, unknown>;
export const AttemptFragmentDoc = new TypedDocumentString(`
    fragment Attempt on Session {
  ...SessionSummary
  exitSignal {
    name
    number
  }
  usage {
    ...Usage
  }
  checkpoint {
    state
    fromAttempt
    bytes
    store
    publishedAt
    note
  }
  parentSession {
    sessionId
    imageDigest
  }
  kernels {
    ...KernelSummary
  }
  retryDecision {
    ...Decision
  }
}
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}
fragment Usage on Usage {
  peakMemoryBytes
  cpuSeconds
  wallSeconds
  source
}
fragment KernelSummary on Kernel {
  id
  kernelId
  role
  index
  host
  slurmJobId
  status
  exitCode
  exitSignal {
    name
    number
  }
  usage {
    ...Usage
  }
  oomKilled
  reason
  agent {
    agentId
    name
  }
  startedAt
  terminatedAt
}
fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}`, {"fragmentName":"Attempt"}) as unknown as TypedDocumentString<AttemptFragment, unknown>;
export const OutputsSummaryFragmentDoc = new TypedDocumentString(`
    fragment OutputsSummary on Outputs {
  state
  id
  bytes
  fileCount
  reasons
  completedAt
  expiresAt
  pinned
  paths
  when
  keepDays
  place {
    node
    directory
  }
}
    `, {"fragmentName":"OutputsSummary"}) as unknown as TypedDocumentString<OutputsSummaryFragment, unknown>;
export const RuleFragmentDoc = new TypedDocumentString(`
    fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
    `, {"fragmentName":"Rule"}) as unknown as TypedDocumentString<RuleFragment, unknown>;
export const PolicyFragmentDoc = new TypedDocumentString(`
    fragment Policy on RetryPolicy {
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
  sources {
    field
    source
  }
}
    fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}`, {"fragmentName":"Policy"}) as unknown as TypedDocumentString<PolicyFragment, unknown>;
export const SessionDetailFragmentDoc = new TypedDocumentString(`
    fragment SessionDetail on Session {
  ...Attempt
  image
  command
  environ {
    name
    value
  }
  secretEnviron
  codeSha256
  imageDigest
  requiredImageDigest
  requiredGpus {
    model
    memoryBytes
  }
  gpus {
    uuid
    index
    name
  }
  gpuUsage {
    peakMemoryBytes
    meanUtilization
    peakUtilization
    energyJoules
    gpuSeconds
  }
  executorOptions {
    key
    value
  }
  mounts {
    volume
    path
    readOnly
  }
  outputs {
    ...OutputsSummary
  }
  inputs {
    from
    match
    to
  }
  concurrencyKey
  concurrencyLimit
  resourceSlots {
    slot
    amount
  }
  clusterMode
  clusterSize
  batchTimeout
  onHang
  neverRunTwice
  stopGrace
  maxPending
  startsAt
  childSession {
    sessionId
  }
  retryPolicy {
    ...Policy
  }
  retryChain {
    ...Attempt
  }
}
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}
fragment Usage on Usage {
  peakMemoryBytes
  cpuSeconds
  wallSeconds
  source
}
fragment KernelSummary on Kernel {
  id
  kernelId
  role
  index
  host
  slurmJobId
  status
  exitCode
  exitSignal {
    name
    number
  }
  usage {
    ...Usage
  }
  oomKilled
  reason
  agent {
    agentId
    name
  }
  startedAt
  terminatedAt
}
fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}
fragment Attempt on Session {
  ...SessionSummary
  exitSignal {
    name
    number
  }
  usage {
    ...Usage
  }
  checkpoint {
    state
    fromAttempt
    bytes
    store
    publishedAt
    note
  }
  parentSession {
    sessionId
    imageDigest
  }
  kernels {
    ...KernelSummary
  }
  retryDecision {
    ...Decision
  }
}
fragment Policy on RetryPolicy {
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
  sources {
    field
    source
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment OutputsSummary on Outputs {
  state
  id
  bytes
  fileCount
  reasons
  completedAt
  expiresAt
  pinned
  paths
  when
  keepDays
  place {
    node
    directory
  }
}`, {"fragmentName":"SessionDetail"}) as unknown as TypedDocumentString<SessionDetailFragment, unknown>;
export const GroupSummaryFragmentDoc = new TypedDocumentString(`
    fragment GroupSummary on SessionGroup {
  groupId
  key
  name
  project {
    name
  }
  state
  outcome
  reason
  counts {
    queued
    running
    waiting
    succeeded
    failed
    cancelled
    total
  }
  progress
  epoch
  maxFailed
  maxFailedPercent
  minSucceeded
  maxRunning
  onFailure
  dependsOn {
    condition
    met
    group {
      groupId
      name
    }
  }
  createdBy
  createdAt
  endedAt
}
    `, {"fragmentName":"GroupSummary"}) as unknown as TypedDocumentString<GroupSummaryFragment, unknown>;
export const BacktestOutcomesFragmentDoc = new TypedDocumentString(`
    fragment BacktestOutcomes on BacktestOutcomes {
  same {
    chains
    laterSeconds
  }
  earlier {
    chains
    attempts
    slotSeconds
    seconds
    successesLost
    lost {
      name
      project
      successes
      exampleChainIds
    }
    exampleChainIds
  }
  longer {
    chains
    attempts
    slotSeconds
    expected {
      successes
      low
      high
      chains
      comparable
    }
    exampleChainIds
  }
  unknown {
    reason
    chains
    attempts
    slotSeconds
    exampleChainIds
  }
}
    `, {"fragmentName":"BacktestOutcomes"}) as unknown as TypedDocumentString<BacktestOutcomesFragment, unknown>;
export const RetryBacktestFragmentDoc = new TypedDocumentString(`
    fragment RetryBacktest on RetryBacktest {
  from
  to
  isComplete
  recorded {
    chains
    attempts
    slotSeconds
    succeeded
  }
  outcomes {
    ...BacktestOutcomes
  }
  airflow {
    outcomes {
      ...BacktestOutcomes
    }
    explanation {
      alike
      differs
    }
  }
}
    fragment BacktestOutcomes on BacktestOutcomes {
  same {
    chains
    laterSeconds
  }
  earlier {
    chains
    attempts
    slotSeconds
    seconds
    successesLost
    lost {
      name
      project
      successes
      exampleChainIds
    }
    exampleChainIds
  }
  longer {
    chains
    attempts
    slotSeconds
    expected {
      successes
      low
      high
      chains
      comparable
    }
    exampleChainIds
  }
  unknown {
    reason
    chains
    attempts
    slotSeconds
    exampleChainIds
  }
}`, {"fragmentName":"RetryBacktest"}) as unknown as TypedDocumentString<RetryBacktestFragment, unknown>;
export const PartialPolicyFragmentDoc = new TypedDocumentString(`
    fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
    fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}`, {"fragmentName":"PartialPolicy"}) as unknown as TypedDocumentString<PartialPolicyFragment, unknown>;
export const RetryAdviceSummaryFragmentDoc = new TypedDocumentString(`
    fragment RetryAdviceSummary on RetryAdvice {
  adviceId
  kind
  project {
    name
  }
  finding
  change
  evidenceCount
  slotSecondsWasted
  gibHoursWasted
  exampleChainIds
  patch {
    policy {
      ...PartialPolicy
    }
    breaker {
      failures
      chains
      window
    }
    name
    memoryBytes
    batchTimeout
    drainAgentId
    takeGpu
  }
  canApply
  foundAt
  state
  stateBy
  stateAt
}
    fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}`, {"fragmentName":"RetryAdviceSummary"}) as unknown as TypedDocumentString<RetryAdviceSummaryFragment, unknown>;
export const BulkActionSummaryFragmentDoc = new TypedDocumentString(`
    fragment BulkActionSummary on BulkAction {
  bulkActionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}
    `, {"fragmentName":"BulkActionSummary"}) as unknown as TypedDocumentString<BulkActionSummaryFragment, unknown>;
export const PlannedFragmentDoc = new TypedDocumentString(`
    fragment Planned on PlannedRetry {
  retry
  delaySeconds
  earliestSeconds
  latestSeconds
  elapsedSeconds
  resourceSlots {
    slot
    amount
  }
  batchTimeout
  gpuMemoryBytes
}
    `, {"fragmentName":"Planned"}) as unknown as TypedDocumentString<PlannedFragment, unknown>;
export const DefaultsFragmentDoc = new TypedDocumentString(`
    fragment Defaults on RetryDefaults {
  scope
  name
  policy {
    ...PartialPolicy
  }
}
    fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}`, {"fragmentName":"Defaults"}) as unknown as TypedDocumentString<DefaultsFragment, unknown>;
export const SwitchFragmentDoc = new TypedDocumentString(`
    fragment Switch on RetrySwitch {
  scope
  name
  disabled
  disabledUntil
  disabledChange {
    at
    by
    reason
  }
  rateLimit {
    perSecond
    burst
  }
  rateLimitUntil
  rateLimitChange {
    at
    by
    reason
  }
  breaker {
    failures
    chains
    window
  }
}
    `, {"fragmentName":"Switch"}) as unknown as TypedDocumentString<SwitchFragment, unknown>;
export const ScheduleSummaryFragmentDoc = new TypedDocumentString(`
    fragment ScheduleSummary on Schedule {
  scheduleId
  name
  project {
    name
  }
  cron
  every
  timeZone
  overlap
  catchUp
  jitter
  paused
  pausedAt
  pausedBy
  pauseReason
  statusReason
  nextRunAt
  queued
  owner
  createdBy
  createdAt
  updatedAt
}
    `, {"fragmentName":"ScheduleSummary"}) as unknown as TypedDocumentString<ScheduleSummaryFragment, unknown>;
export const ScheduleRunSummaryFragmentDoc = new TypedDocumentString(`
    fragment ScheduleRunSummary on ScheduleRun {
  runId
  plannedAt
  lastPlannedAt
  count
  outcome
  code
  reason
  askedBy
  decidedAt
  chainId
}
    `, {"fragmentName":"ScheduleRunSummary"}) as unknown as TypedDocumentString<ScheduleRunSummaryFragment, unknown>;
export const ScheduleDetailFragmentDoc = new TypedDocumentString(`
    fragment ScheduleDetail on Schedule {
  ...ScheduleSummary
  nextRuns(first: 5)
  session {
    name
    sessionType
    resourceGroup
    image
    command
    environ {
      name
      value
    }
    secretEnviron
    resourceSlots {
      slot
      amount
    }
    clusterSize
    clusterMode
    batchTimeout
    gpuIdleTimeout
    onHang
    neverRunTwice
    stopGrace
    maxPending
    priority
    labels {
      key
      value
    }
    codeSha256
    allowAgents
    avoidAgents
    excludeAgents
    gpus {
      model
      memory
    }
    agentLabels {
      key
      value
    }
    executorOptions {
      key
      value
    }
    mounts {
      volume
      path
      readOnly
    }
    concurrencyKey
    concurrencyLimit
    retryPolicy {
      ...PartialPolicy
    }
    maxRetries
  }
  lastRuns(first: 5) {
    ...ScheduleRunSummary
    session {
      chain {
        state
      }
    }
  }
}
    fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment ScheduleRunSummary on ScheduleRun {
  runId
  plannedAt
  lastPlannedAt
  count
  outcome
  code
  reason
  askedBy
  decidedAt
  chainId
}
fragment ScheduleSummary on Schedule {
  scheduleId
  name
  project {
    name
  }
  cron
  every
  timeZone
  overlap
  catchUp
  jitter
  paused
  pausedAt
  pausedBy
  pauseReason
  statusReason
  nextRunAt
  queued
  owner
  createdBy
  createdAt
  updatedAt
}`, {"fragmentName":"ScheduleDetail"}) as unknown as TypedDocumentString<ScheduleDetailFragment, unknown>;
export const FiguresFragmentDoc = new TypedDocumentString(`
    fragment Figures on SessionFigures {
  ended
  succeeded
  failed
  cancelled
  retries
  retriesSucceeded
  retryRate
  retrySuccessRate
  held
  waiting
}
    `, {"fragmentName":"Figures"}) as unknown as TypedDocumentString<FiguresFragment, unknown>;
export const WebhookSummaryFragmentDoc = new TypedDocumentString(`
    fragment WebhookSummary on Webhook {
  webhookId
  url
  description
  eventTypes
  project {
    name
  }
  chainId
  labels {
    key
    value
  }
  enabled
  disabledAt
  disabledReason
  failingSince
  restingUntil
  lastDeliveredAt
  previousSecretExpiresAt
  createdAt
}
    `, {"fragmentName":"WebhookSummary"}) as unknown as TypedDocumentString<WebhookSummaryFragment, unknown>;
export const DeliveryFragmentDoc = new TypedDocumentString(`
    fragment Delivery on WebhookDelivery {
  deliveryId
  messageId
  eventType
  status
  sessionId
  chainId
  occurredAt
  createdAt
  nextAttemptAt
  finishedAt
  attempts {
    number
    startedAt
    durationSeconds
    statusCode
    error
    response
  }
}
    `, {"fragmentName":"Delivery"}) as unknown as TypedDocumentString<DeliveryFragment, unknown>;
export const ViewerDocument = new TypedDocumentString(`
    query Viewer {
  viewer {
    ...TokenSummary
  }
}
    fragment TokenSummary on Token {
  tokenId
  name
  prefix
  role
  resourceGroups
  project {
    name
  }
  user {
    name
  }
  createdAt
  expiresAt
  revokedAt
  lastUsedAt
}`) as unknown as TypedDocumentString<ViewerQuery, ViewerQueryVariables>;
export const TokensDocument = new TypedDocumentString(`
    query Tokens($idPrefix: String, $first: Int, $after: String) {
  tokens(idPrefix: $idPrefix, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...TokenSummary
      }
    }
  }
}
    fragment TokenSummary on Token {
  tokenId
  name
  prefix
  role
  resourceGroups
  project {
    name
  }
  user {
    name
  }
  createdAt
  expiresAt
  revokedAt
  lastUsedAt
}`) as unknown as TypedDocumentString<TokensQuery, TokensQueryVariables>;
export const CreateTokenDocument = new TypedDocumentString(`
    mutation CreateToken($input: CreateTokenInput!) {
  createToken(input: $input) {
    __typename
    ... on CreateTokenPayload {
      secret
      token {
        ...TokenSummary
      }
    }
    ...Failure
  }
}
    fragment TokenSummary on Token {
  tokenId
  name
  prefix
  role
  resourceGroups
  project {
    name
  }
  user {
    name
  }
  createdAt
  expiresAt
  revokedAt
  lastUsedAt
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<CreateTokenMutation, CreateTokenMutationVariables>;
export const RevokeTokenDocument = new TypedDocumentString(`
    mutation RevokeToken($input: RevokeTokenInput!) {
  revokeToken(input: $input) {
    __typename
    ... on RevokeTokenPayload {
      token {
        ...TokenSummary
      }
    }
    ...Failure
  }
}
    fragment TokenSummary on Token {
  tokenId
  name
  prefix
  role
  resourceGroups
  project {
    name
  }
  user {
    name
  }
  createdAt
  expiresAt
  revokedAt
  lastUsedAt
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<RevokeTokenMutation, RevokeTokenMutationVariables>;
export const AuditLogDocument = new TypedDocumentString(`
    query AuditLog($filter: AuditFilter, $first: Int, $after: String) {
  auditLog(filter: $filter, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        entryId
        at
        actor
        tokenId
        userId
        requestId
        address
        action
        projectId
        sessionId
        data
      }
    }
  }
}
    `) as unknown as TypedDocumentString<AuditLogQuery, AuditLogQueryVariables>;
export const ProjectsDocument = new TypedDocumentString(`
    query Projects($first: Int, $after: String) {
  projects(first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        projectId
        name
        domain
        membersEndAll
        outputKeepDays
        createdAt
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ProjectsQuery, ProjectsQueryVariables>;
export const UsersDocument = new TypedDocumentString(`
    query Users($first: Int, $after: String) {
  users(first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        userId
        name
        createdAt
        memberships {
          project {
            name
          }
          role
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<UsersQuery, UsersQueryVariables>;
export const CreateUserDocument = new TypedDocumentString(`
    mutation CreateUser($input: CreateUserInput!) {
  createUser(input: $input) {
    __typename
    ... on CreateUserPayload {
      user {
        userId
        name
        createdAt
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<CreateUserMutation, CreateUserMutationVariables>;
export const DomainsDocument = new TypedDocumentString(`
    query Domains($first: Int, $after: String) {
  domains(first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        domainId
        name
        createdAt
      }
    }
  }
}
    `) as unknown as TypedDocumentString<DomainsQuery, DomainsQueryVariables>;
export const CreateDomainDocument = new TypedDocumentString(`
    mutation CreateDomain($input: CreateDomainInput!) {
  createDomain(input: $input) {
    __typename
    ... on CreateDomainPayload {
      domain {
        domainId
        name
        createdAt
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<CreateDomainMutation, CreateDomainMutationVariables>;
export const CreateProjectDocument = new TypedDocumentString(`
    mutation CreateProject($input: CreateProjectInput!) {
  createProject(input: $input) {
    __typename
    ... on CreateProjectPayload {
      project {
        projectId
        name
        domain
        createdAt
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<CreateProjectMutation, CreateProjectMutationVariables>;
export const UpdateProjectDocument = new TypedDocumentString(`
    mutation UpdateProject($input: UpdateProjectInput!) {
  updateProject(input: $input) {
    __typename
    ... on UpdateProjectPayload {
      project {
        projectId
        name
        membersEndAll
        outputKeepDays
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<UpdateProjectMutation, UpdateProjectMutationVariables>;
export const DeleteUserDocument = new TypedDocumentString(`
    mutation DeleteUser($input: DeleteUserInput!) {
  deleteUser(input: $input) {
    __typename
    ... on DeleteUserPayload {
      userId
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<DeleteUserMutation, DeleteUserMutationVariables>;
export const SetProjectMemberDocument = new TypedDocumentString(`
    mutation SetProjectMember($input: SetProjectMemberInput!) {
  setProjectMember(input: $input) {
    __typename
    ... on SetProjectMemberPayload {
      project {
        name
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<SetProjectMemberMutation, SetProjectMemberMutationVariables>;
export const RemoveProjectMemberDocument = new TypedDocumentString(`
    mutation RemoveProjectMember($input: RemoveProjectMemberInput!) {
  removeProjectMember(input: $input) {
    __typename
    ... on RemoveProjectMemberPayload {
      deletedId
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<RemoveProjectMemberMutation, RemoveProjectMemberMutationVariables>;
export const QuotasDocument = new TypedDocumentString(`
    query Quotas {
  quotas {
    ...QuotaDetail
  }
}
    fragment QuotaDetail on Quota {
  scope
  name
  maxPending
  maxRunning
  maxCheckpointBytes
  maxOutputBytes
  slots {
    slot
    amount
  }
  usage {
    pending
    running
    checkpointBytes
    outputBytes
    slots {
      slot
      amount
    }
  }
}`) as unknown as TypedDocumentString<QuotasQuery, QuotasQueryVariables>;
export const SetQuotaDocument = new TypedDocumentString(`
    mutation SetQuota($input: SetQuotaInput!) {
  setQuota(input: $input) {
    __typename
    ... on SetQuotaPayload {
      quota {
        ...QuotaDetail
      }
    }
    ...Failure
  }
}
    fragment QuotaDetail on Quota {
  scope
  name
  maxPending
  maxRunning
  maxCheckpointBytes
  maxOutputBytes
  slots {
    slot
    amount
  }
  usage {
    pending
    running
    checkpointBytes
    outputBytes
    slots {
      slot
      amount
    }
  }
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<SetQuotaMutation, SetQuotaMutationVariables>;
export const AgentsDocument = new TypedDocumentString(`
    query Agents($filter: AgentFilter, $first: Int, $after: String) {
  agents(filter: $filter, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        agentId
        name
        status
        resourceGroup {
          name
        }
        slots {
          slot
          capacity
          used
        }
        labels {
          key
          value
        }
        embedded
        isolation
        refuses
        gpus {
          slot
          uuid
          index
          name
          memoryBytes
          inUse
          sessions {
            sessionId
            name
            attempt
          }
          fault
          temperatureCelsius
          usedMemoryBytes
          utilization
        }
        gpuFault
        version
        registeredAt
        lastHeardAt
      }
    }
  }
}
    `) as unknown as TypedDocumentString<AgentsQuery, AgentsQueryVariables>;
export const VolumesDocument = new TypedDocumentString(`
    query Volumes {
  volumes {
    name
    readOnly
    resourceGroups
    agents
  }
}
    `) as unknown as TypedDocumentString<VolumesQuery, VolumesQueryVariables>;
export const ResourceGroupsDocument = new TypedDocumentString(`
    query ResourceGroups {
  resourceGroups {
    name
    draining
    drainReason
    pendingSessions {
      totalCount
      totalCountIsExact
    }
    slots {
      slot
      capacity
      used
    }
    selector
    sequencer
    maxTries
    maxReschedules
    ...GroupTimeouts
    ...GroupExecutorOptions
  }
}
    fragment GroupTimeouts on ResourceGroup {
  pendingTimeout
  prepareTimeout
  createTimeout
  queueTimeout
  terminateTimeout
  stopGrace
  stopGraceMax
  fenceAfter
}
fragment GroupExecutorOptions on ResourceGroup {
  executorOptions {
    key
    value
  }
  allowedExecutorOptions
}`) as unknown as TypedDocumentString<ResourceGroupsQuery, ResourceGroupsQueryVariables>;
export const DrainAgentDocument = new TypedDocumentString(`
    mutation DrainAgent($input: DrainAgentInput!) {
  drainAgent(input: $input) {
    __typename
    ... on DrainAgentPayload {
      agent {
        agentId
        name
        status
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<DrainAgentMutation, DrainAgentMutationVariables>;
export const ReturnGpuDocument = new TypedDocumentString(`
    mutation ReturnGpu($input: ReturnGpuInput!) {
  returnGpu(input: $input) {
    __typename
    ... on ReturnGpuPayload {
      agent {
        agentId
        name
        status
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<ReturnGpuMutation, ReturnGpuMutationVariables>;
export const TakeGpuDocument = new TypedDocumentString(`
    mutation TakeGpu($input: TakeGpuInput!) {
  takeGpu(input: $input) {
    __typename
    ... on TakeGpuPayload {
      agent {
        agentId
        name
        status
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<TakeGpuMutation, TakeGpuMutationVariables>;
export const ResumeAgentDocument = new TypedDocumentString(`
    mutation ResumeAgent($input: ResumeAgentInput!) {
  resumeAgent(input: $input) {
    __typename
    ... on ResumeAgentPayload {
      agent {
        agentId
        name
        status
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<ResumeAgentMutation, ResumeAgentMutationVariables>;
export const RemoveAgentDocument = new TypedDocumentString(`
    mutation RemoveAgent($input: RemoveAgentInput!) {
  removeAgent(input: $input) {
    __typename
    ... on RemoveAgentPayload {
      agent {
        agentId
        name
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<RemoveAgentMutation, RemoveAgentMutationVariables>;
export const CreateResourceGroupDocument = new TypedDocumentString(`
    mutation CreateResourceGroup($input: CreateResourceGroupInput!) {
  createResourceGroup(input: $input) {
    __typename
    ... on CreateResourceGroupPayload {
      resourceGroup {
        name
        draining
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<CreateResourceGroupMutation, CreateResourceGroupMutationVariables>;
export const UpdateResourceGroupDocument = new TypedDocumentString(`
    mutation UpdateResourceGroup($input: UpdateResourceGroupInput!) {
  updateResourceGroup(input: $input) {
    __typename
    ... on UpdateResourceGroupPayload {
      resourceGroup {
        name
        draining
        drainReason
        ...GroupTimeouts
        ...GroupExecutorOptions
      }
    }
    ...Failure
  }
}
    fragment GroupTimeouts on ResourceGroup {
  pendingTimeout
  prepareTimeout
  createTimeout
  queueTimeout
  terminateTimeout
  stopGrace
  stopGraceMax
  fenceAfter
}
fragment GroupExecutorOptions on ResourceGroup {
  executorOptions {
    key
    value
  }
  allowedExecutorOptions
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<UpdateResourceGroupMutation, UpdateResourceGroupMutationVariables>;
export const DeleteResourceGroupDocument = new TypedDocumentString(`
    mutation DeleteResourceGroup($input: DeleteResourceGroupInput!) {
  deleteResourceGroup(input: $input) {
    __typename
    ... on DeleteResourceGroupPayload {
      name
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<DeleteResourceGroupMutation, DeleteResourceGroupMutationVariables>;
export const ChainDocument = new TypedDocumentString(`
    query Chain($id: UUID!) {
  session(id: $id) {
    retryChain {
      ...Attempt
    }
  }
}
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}
fragment Usage on Usage {
  peakMemoryBytes
  cpuSeconds
  wallSeconds
  source
}
fragment KernelSummary on Kernel {
  id
  kernelId
  role
  index
  host
  slurmJobId
  status
  exitCode
  exitSignal {
    name
    number
  }
  usage {
    ...Usage
  }
  oomKilled
  reason
  agent {
    agentId
    name
  }
  startedAt
  terminatedAt
}
fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}
fragment Attempt on Session {
  ...SessionSummary
  exitSignal {
    name
    number
  }
  usage {
    ...Usage
  }
  checkpoint {
    state
    fromAttempt
    bytes
    store
    publishedAt
    note
  }
  parentSession {
    sessionId
    imageDigest
  }
  kernels {
    ...KernelSummary
  }
  retryDecision {
    ...Decision
  }
}`) as unknown as TypedDocumentString<ChainQuery, ChainQueryVariables>;
export const ChainsDocument = new TypedDocumentString(`
    query Chains($filter: ChainFilter, $orderBy: ChainOrder, $first: Int, $after: String) {
  chains(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        chainId
        name
        groupIndex
        state
        cause
        attempts
        failureCount
        project {
          name
        }
        outlook {
          willRetry
          dueAt
          reason
        }
        newestAttempt {
          sessionId
        }
        runningSeconds
        waitingSeconds
        totalSeconds
        createdAt
        newestActivityAt
        endedAt
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ChainsQuery, ChainsQueryVariables>;
export const ChainEndsDocument = new TypedDocumentString(`
    query ChainEnds($ids: [UUID!]!, $first: Int) {
  chains(filter: {ids: $ids}, first: $first) {
    edges {
      node {
        chainId
        name
        state
        attempts
        outlook {
          reason
        }
        runningSeconds
        endedAt
        newestAttempt {
          ...SessionSummary
        }
      }
    }
  }
}
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<ChainEndsQuery, ChainEndsQueryVariables>;
export const ChainCountsDocument = new TypedDocumentString(`
    query ChainCounts($filter: ChainFilter) {
  chains(filter: $filter, first: 0) {
    counts {
      state
      count
      isExact
    }
  }
}
    `) as unknown as TypedDocumentString<ChainCountsQuery, ChainCountsQueryVariables>;
export const ChainTimelineDocument = new TypedDocumentString(`
    query ChainTimeline($sessionId: UUID!, $first: Int, $after: String) {
  chain(sessionId: $sessionId) {
    timeline(first: $first, after: $after) {
      pageInfo {
        hasNextPage
        endCursor
      }
      edges {
        node {
          kind
          from
          to
          attempt
          epoch
          session {
            sessionId
          }
          cause
          holdReason
          reason
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ChainTimelineQuery, ChainTimelineQueryVariables>;
export const DeploymentDocument = new TypedDocumentString(`
    query Deployment($id: UUID!) {
  deployment(id: $id) {
    ...DeploymentDetail
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
fragment DeploymentDetail on Deployment {
  ...DeploymentSummary
  statusChangedAt
  createdBy
  failures
  nextRouteAt
  routeCounts {
    status
    count
  }
  revision {
    environ {
      name
      value
    }
    secretEnviron
    resourceSlots {
      slot
      amount
    }
    requiredGpus {
      model
      memoryBytes
    }
    priority
    agentLabels {
      key
      value
    }
    mounts {
      volume
      path
      readOnly
    }
    portVariable
    healthCheck {
      path
      interval
      timeout
      healthyThreshold
      unhealthyThreshold
      initialDelay
      staleAfter
    }
    startTimeout
    evictAfter
    drain
    createdAt
  }
  routes(
    first: 100
    status: [PROVISIONING, DEGRADED, HEALTHY, UNHEALTHY, FAILED_TO_START, TERMINATING]
  ) {
    edges {
      node {
        routeId
        status
        statusReason
        statusChangedAt
        host
        port
        lastCheckFault
        revision {
          number
        }
        session {
          sessionId
          pendingReason
        }
        createdAt
      }
    }
  }
}`) as unknown as TypedDocumentString<DeploymentQuery, DeploymentQueryVariables>;
export const DeploymentsDocument = new TypedDocumentString(`
    query Deployments($filter: DeploymentFilter, $orderBy: DeploymentOrder, $first: Int, $after: String) {
  deployments(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...DeploymentSummary
      }
    }
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}`) as unknown as TypedDocumentString<DeploymentsQuery, DeploymentsQueryVariables>;
export const CreateDeploymentDocument = new TypedDocumentString(`
    mutation CreateDeployment($input: CreateDeploymentInput!) {
  createDeployment(input: $input) {
    __typename
    ... on CreateDeploymentPayload {
      created
      deployment {
        ...DeploymentSummary
      }
    }
    ...Failure
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<CreateDeploymentMutation, CreateDeploymentMutationVariables>;
export const ScaleDeploymentDocument = new TypedDocumentString(`
    mutation ScaleDeployment($input: ScaleDeploymentInput!) {
  scaleDeployment(input: $input) {
    __typename
    ... on ScaleDeploymentPayload {
      deployment {
        ...DeploymentSummary
      }
    }
    ...Failure
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<ScaleDeploymentMutation, ScaleDeploymentMutationVariables>;
export const UpdateDeploymentDocument = new TypedDocumentString(`
    mutation UpdateDeployment($input: UpdateDeploymentInput!) {
  updateDeployment(input: $input) {
    __typename
    ... on UpdateDeploymentPayload {
      deployment {
        ...DeploymentSummary
      }
    }
    ...Failure
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<UpdateDeploymentMutation, UpdateDeploymentMutationVariables>;
export const DestroyDeploymentDocument = new TypedDocumentString(`
    mutation DestroyDeployment($input: DestroyDeploymentInput!) {
  destroyDeployment(input: $input) {
    __typename
    ... on DestroyDeploymentPayload {
      deployment {
        ...DeploymentSummary
      }
    }
    ...Failure
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<DestroyDeploymentMutation, DestroyDeploymentMutationVariables>;
export const DeploymentEventsDocument = new TypedDocumentString(`
    subscription DeploymentEvents($filter: DeploymentEventFilter, $after: String) {
  deploymentEvents(filter: $filter, after: $after) {
    ...DeploymentEventFields
  }
}
    fragment DeploymentEventFields on DeploymentEvent {
  cursor
  type
  occurredAt
  deploymentId
  deployment {
    name
  }
  routeId
  sessionId
  fromStatus
  toStatus
  fromReplicas
  toReplicas
  fromRevision
  revision
  host
  port
  reason
}`) as unknown as TypedDocumentString<DeploymentEventsSubscription, DeploymentEventsSubscriptionVariables>;
export const PastDeploymentEventsDocument = new TypedDocumentString(`
    query PastDeploymentEvents($filter: DeploymentEventFilter, $last: Int, $before: String) {
  deploymentEvents(filter: $filter, last: $last, before: $before) {
    pageInfo {
      hasPreviousPage
      startCursor
      endCursor
    }
    edges {
      node {
        ...DeploymentEventFields
      }
    }
  }
}
    fragment DeploymentEventFields on DeploymentEvent {
  cursor
  type
  occurredAt
  deploymentId
  deployment {
    name
  }
  routeId
  sessionId
  fromStatus
  toStatus
  fromReplicas
  toReplicas
  fromRevision
  revision
  host
  port
  reason
}`) as unknown as TypedDocumentString<PastDeploymentEventsQuery, PastDeploymentEventsQueryVariables>;
export const EventCursorDocument = new TypedDocumentString(`
    query EventCursor {
  eventCursor
}
    `) as unknown as TypedDocumentString<EventCursorQuery, EventCursorQueryVariables>;
export const RetryEventsDocument = new TypedDocumentString(`
    subscription RetryEvents($filter: RetryEventFilter, $after: String) {
  retryEvents(filter: $filter, after: $after) {
    cursor
    type
    occurredAt
    sessionId
    session {
      attempt
    }
    chainId
    attempt
    maxAttempts
    cause
    delaySeconds
    dueAt
    childSessionId
    reason
  }
}
    `) as unknown as TypedDocumentString<RetryEventsSubscription, RetryEventsSubscriptionVariables>;
export const SessionEventsDocument = new TypedDocumentString(`
    subscription SessionEvents($filter: SessionEventFilter, $after: String) {
  sessionEvents(filter: $filter, after: $after) {
    ...EventFields
  }
}
    fragment EventFields on SessionEvent {
  cursor
  type
  occurredAt
  sessionId
  chainId
  fromStatus
  toStatus
  attempt
  maxAttempts
  cause
  delaySeconds
  dueAt
  childSessionId
  reason
  chainEnd {
    epoch
    attempts
    cause
    runningSeconds
    waitingSeconds
  }
}`) as unknown as TypedDocumentString<SessionEventsSubscription, SessionEventsSubscriptionVariables>;
export const EventsDocument = new TypedDocumentString(`
    query Events($filter: SessionEventFilter, $last: Int, $before: String) {
  events(filter: $filter, last: $last, before: $before) {
    pageInfo {
      hasPreviousPage
      startCursor
      endCursor
    }
    edges {
      node {
        ...EventFields
      }
    }
  }
}
    fragment EventFields on SessionEvent {
  cursor
  type
  occurredAt
  sessionId
  chainId
  fromStatus
  toStatus
  attempt
  maxAttempts
  cause
  delaySeconds
  dueAt
  childSessionId
  reason
  chainEnd {
    epoch
    attempts
    cause
    runningSeconds
    waitingSeconds
  }
}`) as unknown as TypedDocumentString<EventsQuery, EventsQueryVariables>;
export const FailureGroupsDocument = new TypedDocumentString(`
    query FailureGroups($filter: SessionFilter, $window: TimeWindow, $states: [FailureGroupState!], $orderBy: FailureGroupOrder, $first: Int, $after: String) {
  failureGroups(
    filter: $filter
    window: $window
    states: $states
    orderBy: $orderBy
    first: $first
    after: $after
  ) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      node {
        ...FailureGroupSummary
      }
    }
  }
}
    fragment FailureGroupSummary on FailureGroup {
  failureGroupId
  title
  name
  project {
    name
  }
  cause
  exitCode
  lines
  masked
  maskVersion
  maskChanges {
    version
    since
  }
  rule
  state
  note
  link
  mutedUntil
  stateBy
  stateAt
  regressedAt
  createdAt
  isNew
  attempts
  chains
  firstSeenAt
  lastSeenAt
  succeededLater
  runningSecondsLost
  cpuSecondsLost
  breaker {
    openedAt
    openedBy
    failures
    chains
    held
    probes
    nextProbeAt
  }
}`) as unknown as TypedDocumentString<FailureGroupsQuery, FailureGroupsQueryVariables>;
export const FailureGroupDocument = new TypedDocumentString(`
    query FailureGroup($id: UUID!, $window: TimeWindow) {
  failureGroup(id: $id, window: $window) {
    ...FailureGroupSummary
    agents {
      name
      attempts
    }
    images {
      name
      attempts
    }
    examples {
      sessionId
      chainId
      name
      attempt
      terminatedAt
    }
  }
}
    fragment FailureGroupSummary on FailureGroup {
  failureGroupId
  title
  name
  project {
    name
  }
  cause
  exitCode
  lines
  masked
  maskVersion
  maskChanges {
    version
    since
  }
  rule
  state
  note
  link
  mutedUntil
  stateBy
  stateAt
  regressedAt
  createdAt
  isNew
  attempts
  chains
  firstSeenAt
  lastSeenAt
  succeededLater
  runningSecondsLost
  cpuSecondsLost
  breaker {
    openedAt
    openedBy
    failures
    chains
    held
    probes
    nextProbeAt
  }
}`) as unknown as TypedDocumentString<FailureGroupQuery, FailureGroupQueryVariables>;
export const SetFailureGroupStateDocument = new TypedDocumentString(`
    mutation SetFailureGroupState($input: SetFailureGroupStateInput!) {
  setFailureGroupState(input: $input) {
    __typename
    ... on FailureGroupPayload {
      failureGroup {
        ...FailureGroupSummary
      }
    }
    ...Failure
  }
}
    fragment FailureGroupSummary on FailureGroup {
  failureGroupId
  title
  name
  project {
    name
  }
  cause
  exitCode
  lines
  masked
  maskVersion
  maskChanges {
    version
    since
  }
  rule
  state
  note
  link
  mutedUntil
  stateBy
  stateAt
  regressedAt
  createdAt
  isNew
  attempts
  chains
  firstSeenAt
  lastSeenAt
  succeededLater
  runningSecondsLost
  cpuSecondsLost
  breaker {
    openedAt
    openedBy
    failures
    chains
    held
    probes
    nextProbeAt
  }
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<SetFailureGroupStateMutation, SetFailureGroupStateMutationVariables>;
export const SetRetryBreakerDocument = new TypedDocumentString(`
    mutation SetRetryBreaker($input: SetRetryBreakerInput!) {
  setRetryBreaker(input: $input) {
    __typename
    ... on FailureGroupPayload {
      failureGroup {
        ...FailureGroupSummary
      }
    }
    ...Failure
  }
}
    fragment FailureGroupSummary on FailureGroup {
  failureGroupId
  title
  name
  project {
    name
  }
  cause
  exitCode
  lines
  masked
  maskVersion
  maskChanges {
    version
    since
  }
  rule
  state
  note
  link
  mutedUntil
  stateBy
  stateAt
  regressedAt
  createdAt
  isNew
  attempts
  chains
  firstSeenAt
  lastSeenAt
  succeededLater
  runningSecondsLost
  cpuSecondsLost
  breaker {
    openedAt
    openedBy
    failures
    chains
    held
    probes
    nextProbeAt
  }
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<SetRetryBreakerMutation, SetRetryBreakerMutationVariables>;
export const CompareSessionsDocument = new TypedDocumentString(`
    query CompareSessions($left: UUID!, $right: UUID!) {
  compareSessions(left: $left, right: $right) {
    left {
      ...ComparedSession
    }
    right {
      ...ComparedSession
    }
    differences {
      field
      before
      after
    }
    logDifference {
      leftNumber
      rightNumber
      leftLine
      rightLine
      linesBefore
      leftLinesAfter
      rightLinesAfter
    }
  }
}
    fragment ComparedSession on Session {
  sessionId
  name
  chainId
  attempt
  status
  result
  impossible
  exitCode
  failureCause
  failureReason
  statusReason
  pendingReason
  progress
  timedOut
  batchTimeout
  startedAt
  terminatedAt
  imageDigest
  kernels {
    agent {
      name
    }
  }
  usage {
    peakMemoryBytes
    cpuSeconds
  }
}`) as unknown as TypedDocumentString<CompareSessionsQuery, CompareSessionsQueryVariables>;
export const ComparableSessionsDocument = new TypedDocumentString(`
    query ComparableSessions($id: UUID!) {
  session(id: $id) {
    sessionId
    lastSuccess {
      sessionId
    }
    parentSession {
      sessionId
    }
  }
}
    `) as unknown as TypedDocumentString<ComparableSessionsQuery, ComparableSessionsQueryVariables>;
export const RetryInsightsDocument = new TypedDocumentString(`
    query RetryInsights($filter: SessionFilter, $window: TimeWindow, $groupBy: InsightGrouping!, $labelKey: String, $first: Int, $withSeries: Boolean!) {
  retryInsights(
    filter: $filter
    window: $window
    groupBy: $groupBy
    labelKey: $labelKey
    first: $first
  ) {
    key
    title
    attempts
    failed
    retries
    chainsSaved
    chainsLost
    successByRetry {
      retry
      succeeded
      failed
      stopped
      share
      cumulative
    }
    runningSecondsLost
    slotSecondsLost {
      ...SlotTimes
    }
    waitingSeconds
    medianSecondsToSuccess
    effectiveShare
    series @include(if: $withSeries) {
      from
      attempts
      failed
      runningSecondsLost
      slotSecondsLost {
        ...SlotTimes
      }
    }
  }
}
    fragment SlotTimes on SlotSeconds {
  cpu
  mem
  gpu
}`) as unknown as TypedDocumentString<RetryInsightsQuery, RetryInsightsQueryVariables>;
export const UsageDocument = new TypedDocumentString(`
    query Usage($filter: SessionFilter, $window: TimeWindow, $groupBy: UsageGrouping!, $labelKey: String, $first: Int) {
  usage(
    filter: $filter
    window: $window
    groupBy: $groupBy
    labelKey: $labelKey
    first: $first
  ) {
    key
    title
    sessions
    runningSeconds
    slotSeconds {
      ...SlotTimes
    }
    cpuSecondsUsed
  }
}
    fragment SlotTimes on SlotSeconds {
  cpu
  mem
  gpu
}`) as unknown as TypedDocumentString<UsageQuery, UsageQueryVariables>;
export const FailureRulesDocument = new TypedDocumentString(`
    query FailureRules($project: String!) {
  project(by: {name: $project}) {
    ...Rules
  }
}
    fragment Rules on Project {
  failureRules {
    pattern
    name
  }
}`) as unknown as TypedDocumentString<FailureRulesQuery, FailureRulesQueryVariables>;
export const SetFailureRulesDocument = new TypedDocumentString(`
    mutation SetFailureRules($input: SetFailureRulesInput!) {
  setFailureRules(input: $input) {
    __typename
    ... on SetFailureRulesPayload {
      project {
        ...Rules
      }
    }
    ...Failure
  }
}
    fragment Rules on Project {
  failureRules {
    pattern
    name
  }
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<SetFailureRulesMutation, SetFailureRulesMutationVariables>;
export const SessionGroupDocument = new TypedDocumentString(`
    query SessionGroup($id: UUID, $key: String, $project: String) {
  sessionGroup(id: $id, key: $key, project: $project) {
    ...GroupSummary
  }
}
    fragment GroupSummary on SessionGroup {
  groupId
  key
  name
  project {
    name
  }
  state
  outcome
  reason
  counts {
    queued
    running
    waiting
    succeeded
    failed
    cancelled
    total
  }
  progress
  epoch
  maxFailed
  maxFailedPercent
  minSucceeded
  maxRunning
  onFailure
  dependsOn {
    condition
    met
    group {
      groupId
      name
    }
  }
  createdBy
  createdAt
  endedAt
}`) as unknown as TypedDocumentString<SessionGroupQuery, SessionGroupQueryVariables>;
export const SessionGroupsDocument = new TypedDocumentString(`
    query SessionGroups($filter: SessionGroupFilter, $first: Int, $after: String) {
  sessionGroups(filter: $filter, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...GroupSummary
      }
    }
  }
}
    fragment GroupSummary on SessionGroup {
  groupId
  key
  name
  project {
    name
  }
  state
  outcome
  reason
  counts {
    queued
    running
    waiting
    succeeded
    failed
    cancelled
    total
  }
  progress
  epoch
  maxFailed
  maxFailedPercent
  minSucceeded
  maxRunning
  onFailure
  dependsOn {
    condition
    met
    group {
      groupId
      name
    }
  }
  createdBy
  createdAt
  endedAt
}`) as unknown as TypedDocumentString<SessionGroupsQuery, SessionGroupsQueryVariables>;
export const CreateGroupDocument = new TypedDocumentString(`
    mutation CreateGroup($input: CreateSessionsInput!) {
  createSessions(input: $input) {
    __typename
    ... on CreateSessionsPayload {
      created
      group {
        ...GroupSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment GroupSummary on SessionGroup {
  groupId
  key
  name
  project {
    name
  }
  state
  outcome
  reason
  counts {
    queued
    running
    waiting
    succeeded
    failed
    cancelled
    total
  }
  progress
  epoch
  maxFailed
  maxFailedPercent
  minSucceeded
  maxRunning
  onFailure
  dependsOn {
    condition
    met
    group {
      groupId
      name
    }
  }
  createdBy
  createdAt
  endedAt
}`) as unknown as TypedDocumentString<CreateGroupMutation, CreateGroupMutationVariables>;
export const AddSessionsDocument = new TypedDocumentString(`
    mutation AddSessions($input: AddSessionsInput!) {
  addSessions(input: $input) {
    __typename
    ... on AddSessionsPayload {
      added
      group {
        ...GroupSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment GroupSummary on SessionGroup {
  groupId
  key
  name
  project {
    name
  }
  state
  outcome
  reason
  counts {
    queued
    running
    waiting
    succeeded
    failed
    cancelled
    total
  }
  progress
  epoch
  maxFailed
  maxFailedPercent
  minSucceeded
  maxRunning
  onFailure
  dependsOn {
    condition
    met
    group {
      groupId
      name
    }
  }
  createdBy
  createdAt
  endedAt
}`) as unknown as TypedDocumentString<AddSessionsMutation, AddSessionsMutationVariables>;
export const CancelSessionGroupDocument = new TypedDocumentString(`
    mutation CancelSessionGroup($input: CancelSessionGroupInput!) {
  cancelSessionGroup(input: $input) {
    __typename
    ... on CancelSessionGroupPayload {
      group {
        ...GroupSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment GroupSummary on SessionGroup {
  groupId
  key
  name
  project {
    name
  }
  state
  outcome
  reason
  counts {
    queued
    running
    waiting
    succeeded
    failed
    cancelled
    total
  }
  progress
  epoch
  maxFailed
  maxFailedPercent
  minSucceeded
  maxRunning
  onFailure
  dependsOn {
    condition
    met
    group {
      groupId
      name
    }
  }
  createdBy
  createdAt
  endedAt
}`) as unknown as TypedDocumentString<CancelSessionGroupMutation, CancelSessionGroupMutationVariables>;
export const ResubmitSessionGroupDocument = new TypedDocumentString(`
    mutation ResubmitSessionGroup($input: ResubmitSessionGroupInput!) {
  resubmitSessionGroup(input: $input) {
    __typename
    ... on ResubmitSessionGroupPayload {
      bulkAction {
        ...BulkActionSummary
      }
      sessions {
        ...SessionSummary
      }
      refused {
        sessionId
        code
        message
        childSession {
          sessionId
        }
      }
      cancelledDependents
      group {
        ...GroupSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}
fragment GroupSummary on SessionGroup {
  groupId
  key
  name
  project {
    name
  }
  state
  outcome
  reason
  counts {
    queued
    running
    waiting
    succeeded
    failed
    cancelled
    total
  }
  progress
  epoch
  maxFailed
  maxFailedPercent
  minSucceeded
  maxRunning
  onFailure
  dependsOn {
    condition
    met
    group {
      groupId
      name
    }
  }
  createdBy
  createdAt
  endedAt
}
fragment BulkActionSummary on BulkAction {
  bulkActionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<ResubmitSessionGroupMutation, ResubmitSessionGroupMutationVariables>;
export const RetryBacktestProgressDocument = new TypedDocumentString(`
    subscription RetryBacktestProgress($policy: RetryPolicyInput!, $base: BacktestBase, $airflow: AirflowSettingsInput, $filter: SessionFilter, $window: TimeWindow) {
  retryBacktestProgress(
    policy: $policy
    base: $base
    airflow: $airflow
    filter: $filter
    window: $window
  ) {
    share
    chains
    backtest {
      ...RetryBacktest
    }
  }
}
    fragment BacktestOutcomes on BacktestOutcomes {
  same {
    chains
    laterSeconds
  }
  earlier {
    chains
    attempts
    slotSeconds
    seconds
    successesLost
    lost {
      name
      project
      successes
      exampleChainIds
    }
    exampleChainIds
  }
  longer {
    chains
    attempts
    slotSeconds
    expected {
      successes
      low
      high
      chains
      comparable
    }
    exampleChainIds
  }
  unknown {
    reason
    chains
    attempts
    slotSeconds
    exampleChainIds
  }
}
fragment RetryBacktest on RetryBacktest {
  from
  to
  isComplete
  recorded {
    chains
    attempts
    slotSeconds
    succeeded
  }
  outcomes {
    ...BacktestOutcomes
  }
  airflow {
    outcomes {
      ...BacktestOutcomes
    }
    explanation {
      alike
      differs
    }
  }
}`) as unknown as TypedDocumentString<RetryBacktestProgressSubscription, RetryBacktestProgressSubscriptionVariables>;
export const RetryAdviceDocument = new TypedDocumentString(`
    query RetryAdvice($scope: RetryScope!, $name: String, $states: [RetryAdviceState!], $adviceId: UUID, $withBacktest: Boolean!) {
  retryAdvice(scope: $scope, name: $name, states: $states, adviceId: $adviceId) {
    ...RetryAdviceSummary
    backtest @include(if: $withBacktest) {
      ...RetryBacktest
    }
  }
}
    fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment BacktestOutcomes on BacktestOutcomes {
  same {
    chains
    laterSeconds
  }
  earlier {
    chains
    attempts
    slotSeconds
    seconds
    successesLost
    lost {
      name
      project
      successes
      exampleChainIds
    }
    exampleChainIds
  }
  longer {
    chains
    attempts
    slotSeconds
    expected {
      successes
      low
      high
      chains
      comparable
    }
    exampleChainIds
  }
  unknown {
    reason
    chains
    attempts
    slotSeconds
    exampleChainIds
  }
}
fragment RetryBacktest on RetryBacktest {
  from
  to
  isComplete
  recorded {
    chains
    attempts
    slotSeconds
    succeeded
  }
  outcomes {
    ...BacktestOutcomes
  }
  airflow {
    outcomes {
      ...BacktestOutcomes
    }
    explanation {
      alike
      differs
    }
  }
}
fragment RetryAdviceSummary on RetryAdvice {
  adviceId
  kind
  project {
    name
  }
  finding
  change
  evidenceCount
  slotSecondsWasted
  gibHoursWasted
  exampleChainIds
  patch {
    policy {
      ...PartialPolicy
    }
    breaker {
      failures
      chains
      window
    }
    name
    memoryBytes
    batchTimeout
    drainAgentId
    takeGpu
  }
  canApply
  foundAt
  state
  stateBy
  stateAt
}`) as unknown as TypedDocumentString<RetryAdviceQuery, RetryAdviceQueryVariables>;
export const ApplyRetryAdviceDocument = new TypedDocumentString(`
    mutation ApplyRetryAdvice($input: ApplyRetryAdviceInput!) {
  applyRetryAdvice(input: $input) {
    __typename
    ... on RetryAdvicePayload {
      advice {
        ...RetryAdviceSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment RetryAdviceSummary on RetryAdvice {
  adviceId
  kind
  project {
    name
  }
  finding
  change
  evidenceCount
  slotSecondsWasted
  gibHoursWasted
  exampleChainIds
  patch {
    policy {
      ...PartialPolicy
    }
    breaker {
      failures
      chains
      window
    }
    name
    memoryBytes
    batchTimeout
    drainAgentId
    takeGpu
  }
  canApply
  foundAt
  state
  stateBy
  stateAt
}`) as unknown as TypedDocumentString<ApplyRetryAdviceMutation, ApplyRetryAdviceMutationVariables>;
export const DismissRetryAdviceDocument = new TypedDocumentString(`
    mutation DismissRetryAdvice($input: DismissRetryAdviceInput!) {
  dismissRetryAdvice(input: $input) {
    __typename
    ... on RetryAdvicePayload {
      advice {
        ...RetryAdviceSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment RetryAdviceSummary on RetryAdvice {
  adviceId
  kind
  project {
    name
  }
  finding
  change
  evidenceCount
  slotSecondsWasted
  gibHoursWasted
  exampleChainIds
  patch {
    policy {
      ...PartialPolicy
    }
    breaker {
      failures
      chains
      window
    }
    name
    memoryBytes
    batchTimeout
    drainAgentId
    takeGpu
  }
  canApply
  foundAt
  state
  stateBy
  stateAt
}`) as unknown as TypedDocumentString<DismissRetryAdviceMutation, DismissRetryAdviceMutationVariables>;
export const ChainOutputsDocument = new TypedDocumentString(`
    query ChainOutputs($id: UUID!) {
  session(id: $id) {
    name
    retryChain {
      sessionId
      chainId
      attempt
      status
      result
      retryState {
        phase
      }
      outputs {
        ...OutputsSummary
      }
    }
  }
}
    fragment OutputsSummary on Outputs {
  state
  id
  bytes
  fileCount
  reasons
  completedAt
  expiresAt
  pinned
  paths
  when
  keepDays
  place {
    node
    directory
  }
}`) as unknown as TypedDocumentString<ChainOutputsQuery, ChainOutputsQueryVariables>;
export const OutputFilesDocument = new TypedDocumentString(`
    query OutputFiles($id: UUID!, $match: String, $first: Int, $after: String) {
  session(id: $id) {
    outputs {
      files(match: $match, first: $first, after: $after) {
        pageInfo {
          hasNextPage
          endCursor
        }
        edges {
          cursor
          node {
            path
            bytes
            sha256
            executable
            linkTarget
            modifiedAt
          }
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<OutputFilesQuery, OutputFilesQueryVariables>;
export const ResubmitSessionsDocument = new TypedDocumentString(`
    mutation ResubmitSessions($input: ResubmitSessionsInput!) {
  resubmitSessions(input: $input) {
    __typename
    ... on ResubmitSessionsPayload {
      bulkAction {
        ...BulkActionSummary
      }
      sessions {
        ...SessionSummary
      }
      refused {
        sessionId
        code
        message
        childSession {
          sessionId
        }
      }
      cancelledDependents
    }
    ... on DryRun {
      total
      count
      cancelledDependents
      refusals {
        code
        count
        message
      }
      sessions {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}
fragment BulkActionSummary on BulkAction {
  bulkActionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<ResubmitSessionsMutation, ResubmitSessionsMutationVariables>;
export const AbortBulkActionDocument = new TypedDocumentString(`
    mutation AbortBulkAction($input: AbortBulkActionInput!) {
  abortBulkAction(input: $input) {
    __typename
    ... on AbortBulkActionPayload {
      bulkAction {
        ...BulkActionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment BulkActionSummary on BulkAction {
  bulkActionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<AbortBulkActionMutation, AbortBulkActionMutationVariables>;
export const BulkActionDocument = new TypedDocumentString(`
    query BulkAction($id: UUID!) {
  bulkAction(id: $id) {
    ...BulkActionSummary
  }
}
    fragment BulkActionSummary on BulkAction {
  bulkActionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<BulkActionQuery, BulkActionQueryVariables>;
export const BulkActionRefusalsDocument = new TypedDocumentString(`
    query BulkActionRefusals($id: UUID!) {
  bulkAction(id: $id) {
    refusals {
      code
      count
      message
    }
  }
}
    `) as unknown as TypedDocumentString<BulkActionRefusalsQuery, BulkActionRefusalsQueryVariables>;
export const BulkActionsDocument = new TypedDocumentString(`
    query BulkActions($filter: BulkActionFilter, $first: Int, $after: String) {
  bulkActions(filter: $filter, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...BulkActionSummary
      }
    }
  }
}
    fragment BulkActionSummary on BulkAction {
  bulkActionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<BulkActionsQuery, BulkActionsQueryVariables>;
export const BulkActionItemsDocument = new TypedDocumentString(`
    query BulkActionItems($id: UUID!, $status: BulkActionItemStatus, $first: Int, $after: String) {
  bulkAction(id: $id) {
    items(status: $status, first: $first, after: $after) {
      pageInfo {
        hasNextPage
        endCursor
      }
      edges {
        cursor
        node {
          position
          sessionId
          session {
            chainId
          }
          status
          childSessionId
          code
          message
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<BulkActionItemsQuery, BulkActionItemsQueryVariables>;
export const TerminateSessionsDocument = new TypedDocumentString(`
    mutation TerminateSessions($input: TerminateSessionsInput!) {
  terminateSessions(input: $input) {
    __typename
    ... on TerminateSessionsPayload {
      bulkAction {
        ...BulkActionSummary
      }
      sessions {
        ...SessionSummary
      }
      refused {
        sessionId
        code
        message
        childSession {
          sessionId
        }
      }
    }
    ... on DryRun {
      total
      count
      refusals {
        code
        count
        message
      }
      sessions {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}
fragment BulkActionSummary on BulkAction {
  bulkActionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<TerminateSessionsMutation, TerminateSessionsMutationVariables>;
export const CancelRetriesDocument = new TypedDocumentString(`
    mutation CancelRetries($input: CancelRetriesInput!) {
  cancelRetries(input: $input) {
    __typename
    ... on CancelRetriesPayload {
      bulkAction {
        ...BulkActionSummary
      }
      sessions {
        ...SessionSummary
      }
      refused {
        sessionId
        code
        message
        childSession {
          sessionId
        }
      }
    }
    ... on DryRun {
      total
      count
      refusals {
        code
        count
        message
      }
      sessions {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}
fragment BulkActionSummary on BulkAction {
  bulkActionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<CancelRetriesMutation, CancelRetriesMutationVariables>;
export const RetryNowManyDocument = new TypedDocumentString(`
    mutation RetryNowMany($input: RetryNowManyInput!) {
  retryNowMany(input: $input) {
    __typename
    ... on RetryNowManyPayload {
      bulkAction {
        ...BulkActionSummary
      }
      sessions {
        ...SessionSummary
      }
      refused {
        sessionId
        code
        message
        childSession {
          sessionId
        }
      }
    }
    ... on DryRun {
      total
      count
      refusals {
        code
        count
        message
      }
      sessions {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}
fragment BulkActionSummary on BulkAction {
  bulkActionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<RetryNowManyMutation, RetryNowManyMutationVariables>;
export const RetryPolicyPreviewDocument = new TypedDocumentString(`
    query RetryPolicyPreview($policy: RetryPolicyInput!, $cause: FailureCause, $exitCode: Int, $sessionId: UUID, $project: String) {
  retryPolicyPreview(
    policy: $policy
    cause: $cause
    exitCode: $exitCode
    sessionId: $sessionId
    project: $project
  ) {
    eligible
    explanation
    schedule {
      ...Planned
    }
    sources {
      field
      source
    }
  }
}
    fragment Planned on PlannedRetry {
  retry
  delaySeconds
  earliestSeconds
  latestSeconds
  elapsedSeconds
  resourceSlots {
    slot
    amount
  }
  batchTimeout
  gpuMemoryBytes
}`) as unknown as TypedDocumentString<RetryPolicyPreviewQuery, RetryPolicyPreviewQueryVariables>;
export const RetryPolicyTrialDocument = new TypedDocumentString(`
    query RetryPolicyTrial($policy: RetryPolicyInput!, $sessionIds: [UUID!], $filter: SessionFilter, $window: TimeWindow, $first: Int) {
  retryPolicyPreview(
    policy: $policy
    sessionIds: $sessionIds
    filter: $filter
    window: $window
  ) {
    trial {
      matched
      tried
      counts {
        phase
        counted
        matchedRule
        count
      }
      decisions(first: $first) {
        sessionId
        chainId
        name
        project
        attempt
        endedAt
        cause
        phase
        matchedRule
        counted
        reason
        delaySeconds
        resourceSlots {
          slot
          amount
        }
        batchTimeout
        gpuMemoryBytes
        recordedPhase
      }
    }
  }
}
    `) as unknown as TypedDocumentString<RetryPolicyTrialQuery, RetryPolicyTrialQueryVariables>;
export const AirflowPolicyPreviewDocument = new TypedDocumentString(`
    query AirflowPolicyPreview($settings: AirflowSettingsInput!) {
  airflowPolicyPreview(settings: $settings) {
    policy {
      ...Policy
    }
    schedule {
      ...Planned
    }
    airflowDelays {
      retry
      delaySeconds
      earliestSeconds
      latestSeconds
      elapsedSeconds
    }
    explanation {
      alike
      differs
    }
  }
}
    fragment Policy on RetryPolicy {
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
  sources {
    field
    source
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment Planned on PlannedRetry {
  retry
  delaySeconds
  earliestSeconds
  latestSeconds
  elapsedSeconds
  resourceSlots {
    slot
    amount
  }
  batchTimeout
  gpuMemoryBytes
}`) as unknown as TypedDocumentString<AirflowPolicyPreviewQuery, AirflowPolicyPreviewQueryVariables>;
export const RetryDecisionsDocument = new TypedDocumentString(`
    query RetryDecisions($filter: RetryDecisionFilter, $first: Int, $after: String) {
  retryDecisions(filter: $filter, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...Decision
      }
    }
  }
}
    fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}`) as unknown as TypedDocumentString<RetryDecisionsQuery, RetryDecisionsQueryVariables>;
export const RetryDefaultsDocument = new TypedDocumentString(`
    query RetryDefaults {
  retryDefaults {
    ...Defaults
  }
}
    fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment Defaults on RetryDefaults {
  scope
  name
  policy {
    ...PartialPolicy
  }
}`) as unknown as TypedDocumentString<RetryDefaultsQuery, RetryDefaultsQueryVariables>;
export const SetRetryDefaultsDocument = new TypedDocumentString(`
    mutation SetRetryDefaults($input: SetRetryDefaultsInput!) {
  setRetryDefaults(input: $input) {
    __typename
    ... on SetRetryDefaultsPayload {
      retryDefaults {
        ...Defaults
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment Defaults on RetryDefaults {
  scope
  name
  policy {
    ...PartialPolicy
  }
}`) as unknown as TypedDocumentString<SetRetryDefaultsMutation, SetRetryDefaultsMutationVariables>;
export const RetrySwitchesDocument = new TypedDocumentString(`
    query RetrySwitches {
  retrySwitches {
    ...Switch
  }
}
    fragment Switch on RetrySwitch {
  scope
  name
  disabled
  disabledUntil
  disabledChange {
    at
    by
    reason
  }
  rateLimit {
    perSecond
    burst
  }
  rateLimitUntil
  rateLimitChange {
    at
    by
    reason
  }
  breaker {
    failures
    chains
    window
  }
}`) as unknown as TypedDocumentString<RetrySwitchesQuery, RetrySwitchesQueryVariables>;
export const SetRetrySwitchDocument = new TypedDocumentString(`
    mutation SetRetrySwitch($input: SetRetrySwitchInput!) {
  setRetrySwitch(input: $input) {
    __typename
    ... on SetRetrySwitchPayload {
      retrySwitch {
        ...Switch
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment Switch on RetrySwitch {
  scope
  name
  disabled
  disabledUntil
  disabledChange {
    at
    by
    reason
  }
  rateLimit {
    perSecond
    burst
  }
  rateLimitUntil
  rateLimitChange {
    at
    by
    reason
  }
  breaker {
    failures
    chains
    window
  }
}`) as unknown as TypedDocumentString<SetRetrySwitchMutation, SetRetrySwitchMutationVariables>;
export const SchedulesDocument = new TypedDocumentString(`
    query Schedules($filter: ScheduleFilter, $first: Int, $after: String) {
  schedules(filter: $filter, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...ScheduleSummary
      }
    }
  }
}
    fragment ScheduleSummary on Schedule {
  scheduleId
  name
  project {
    name
  }
  cron
  every
  timeZone
  overlap
  catchUp
  jitter
  paused
  pausedAt
  pausedBy
  pauseReason
  statusReason
  nextRunAt
  queued
  owner
  createdBy
  createdAt
  updatedAt
}`) as unknown as TypedDocumentString<SchedulesQuery, SchedulesQueryVariables>;
export const ScheduleDocument = new TypedDocumentString(`
    query Schedule($id: UUID!) {
  schedule(id: $id) {
    ...ScheduleDetail
  }
}
    fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment ScheduleRunSummary on ScheduleRun {
  runId
  plannedAt
  lastPlannedAt
  count
  outcome
  code
  reason
  askedBy
  decidedAt
  chainId
}
fragment ScheduleSummary on Schedule {
  scheduleId
  name
  project {
    name
  }
  cron
  every
  timeZone
  overlap
  catchUp
  jitter
  paused
  pausedAt
  pausedBy
  pauseReason
  statusReason
  nextRunAt
  queued
  owner
  createdBy
  createdAt
  updatedAt
}
fragment ScheduleDetail on Schedule {
  ...ScheduleSummary
  nextRuns(first: 5)
  session {
    name
    sessionType
    resourceGroup
    image
    command
    environ {
      name
      value
    }
    secretEnviron
    resourceSlots {
      slot
      amount
    }
    clusterSize
    clusterMode
    batchTimeout
    gpuIdleTimeout
    onHang
    neverRunTwice
    stopGrace
    maxPending
    priority
    labels {
      key
      value
    }
    codeSha256
    allowAgents
    avoidAgents
    excludeAgents
    gpus {
      model
      memory
    }
    agentLabels {
      key
      value
    }
    executorOptions {
      key
      value
    }
    mounts {
      volume
      path
      readOnly
    }
    concurrencyKey
    concurrencyLimit
    retryPolicy {
      ...PartialPolicy
    }
    maxRetries
  }
  lastRuns(first: 5) {
    ...ScheduleRunSummary
    session {
      chain {
        state
      }
    }
  }
}`) as unknown as TypedDocumentString<ScheduleQuery, ScheduleQueryVariables>;
export const ScheduleRunsDocument = new TypedDocumentString(`
    query ScheduleRuns($scheduleId: UUID!, $outcome: [ScheduleRunOutcome!], $first: Int, $after: String) {
  scheduleRuns(
    scheduleId: $scheduleId
    outcome: $outcome
    first: $first
    after: $after
  ) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...ScheduleRunSummary
        session {
          chain {
            state
          }
        }
      }
    }
  }
}
    fragment ScheduleRunSummary on ScheduleRun {
  runId
  plannedAt
  lastPlannedAt
  count
  outcome
  code
  reason
  askedBy
  decidedAt
  chainId
}`) as unknown as TypedDocumentString<ScheduleRunsQuery, ScheduleRunsQueryVariables>;
export const CreateScheduleDocument = new TypedDocumentString(`
    mutation CreateSchedule($input: CreateScheduleInput!) {
  createSchedule(input: $input) {
    __typename
    ... on CreateSchedulePayload {
      schedule {
        ...ScheduleDetail
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment ScheduleRunSummary on ScheduleRun {
  runId
  plannedAt
  lastPlannedAt
  count
  outcome
  code
  reason
  askedBy
  decidedAt
  chainId
}
fragment ScheduleSummary on Schedule {
  scheduleId
  name
  project {
    name
  }
  cron
  every
  timeZone
  overlap
  catchUp
  jitter
  paused
  pausedAt
  pausedBy
  pauseReason
  statusReason
  nextRunAt
  queued
  owner
  createdBy
  createdAt
  updatedAt
}
fragment ScheduleDetail on Schedule {
  ...ScheduleSummary
  nextRuns(first: 5)
  session {
    name
    sessionType
    resourceGroup
    image
    command
    environ {
      name
      value
    }
    secretEnviron
    resourceSlots {
      slot
      amount
    }
    clusterSize
    clusterMode
    batchTimeout
    gpuIdleTimeout
    onHang
    neverRunTwice
    stopGrace
    maxPending
    priority
    labels {
      key
      value
    }
    codeSha256
    allowAgents
    avoidAgents
    excludeAgents
    gpus {
      model
      memory
    }
    agentLabels {
      key
      value
    }
    executorOptions {
      key
      value
    }
    mounts {
      volume
      path
      readOnly
    }
    concurrencyKey
    concurrencyLimit
    retryPolicy {
      ...PartialPolicy
    }
    maxRetries
  }
  lastRuns(first: 5) {
    ...ScheduleRunSummary
    session {
      chain {
        state
      }
    }
  }
}`) as unknown as TypedDocumentString<CreateScheduleMutation, CreateScheduleMutationVariables>;
export const UpdateScheduleDocument = new TypedDocumentString(`
    mutation UpdateSchedule($input: UpdateScheduleInput!) {
  updateSchedule(input: $input) {
    __typename
    ... on UpdateSchedulePayload {
      schedule {
        ...ScheduleDetail
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment ScheduleRunSummary on ScheduleRun {
  runId
  plannedAt
  lastPlannedAt
  count
  outcome
  code
  reason
  askedBy
  decidedAt
  chainId
}
fragment ScheduleSummary on Schedule {
  scheduleId
  name
  project {
    name
  }
  cron
  every
  timeZone
  overlap
  catchUp
  jitter
  paused
  pausedAt
  pausedBy
  pauseReason
  statusReason
  nextRunAt
  queued
  owner
  createdBy
  createdAt
  updatedAt
}
fragment ScheduleDetail on Schedule {
  ...ScheduleSummary
  nextRuns(first: 5)
  session {
    name
    sessionType
    resourceGroup
    image
    command
    environ {
      name
      value
    }
    secretEnviron
    resourceSlots {
      slot
      amount
    }
    clusterSize
    clusterMode
    batchTimeout
    gpuIdleTimeout
    onHang
    neverRunTwice
    stopGrace
    maxPending
    priority
    labels {
      key
      value
    }
    codeSha256
    allowAgents
    avoidAgents
    excludeAgents
    gpus {
      model
      memory
    }
    agentLabels {
      key
      value
    }
    executorOptions {
      key
      value
    }
    mounts {
      volume
      path
      readOnly
    }
    concurrencyKey
    concurrencyLimit
    retryPolicy {
      ...PartialPolicy
    }
    maxRetries
  }
  lastRuns(first: 5) {
    ...ScheduleRunSummary
    session {
      chain {
        state
      }
    }
  }
}`) as unknown as TypedDocumentString<UpdateScheduleMutation, UpdateScheduleMutationVariables>;
export const PauseScheduleDocument = new TypedDocumentString(`
    mutation PauseSchedule($input: PauseScheduleInput!) {
  pauseSchedule(input: $input) {
    __typename
    ... on PauseSchedulePayload {
      schedule {
        ...ScheduleDetail
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment ScheduleRunSummary on ScheduleRun {
  runId
  plannedAt
  lastPlannedAt
  count
  outcome
  code
  reason
  askedBy
  decidedAt
  chainId
}
fragment ScheduleSummary on Schedule {
  scheduleId
  name
  project {
    name
  }
  cron
  every
  timeZone
  overlap
  catchUp
  jitter
  paused
  pausedAt
  pausedBy
  pauseReason
  statusReason
  nextRunAt
  queued
  owner
  createdBy
  createdAt
  updatedAt
}
fragment ScheduleDetail on Schedule {
  ...ScheduleSummary
  nextRuns(first: 5)
  session {
    name
    sessionType
    resourceGroup
    image
    command
    environ {
      name
      value
    }
    secretEnviron
    resourceSlots {
      slot
      amount
    }
    clusterSize
    clusterMode
    batchTimeout
    gpuIdleTimeout
    onHang
    neverRunTwice
    stopGrace
    maxPending
    priority
    labels {
      key
      value
    }
    codeSha256
    allowAgents
    avoidAgents
    excludeAgents
    gpus {
      model
      memory
    }
    agentLabels {
      key
      value
    }
    executorOptions {
      key
      value
    }
    mounts {
      volume
      path
      readOnly
    }
    concurrencyKey
    concurrencyLimit
    retryPolicy {
      ...PartialPolicy
    }
    maxRetries
  }
  lastRuns(first: 5) {
    ...ScheduleRunSummary
    session {
      chain {
        state
      }
    }
  }
}`) as unknown as TypedDocumentString<PauseScheduleMutation, PauseScheduleMutationVariables>;
export const ResumeScheduleDocument = new TypedDocumentString(`
    mutation ResumeSchedule($input: ResumeScheduleInput!) {
  resumeSchedule(input: $input) {
    __typename
    ... on ResumeSchedulePayload {
      schedule {
        ...ScheduleDetail
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment ScheduleRunSummary on ScheduleRun {
  runId
  plannedAt
  lastPlannedAt
  count
  outcome
  code
  reason
  askedBy
  decidedAt
  chainId
}
fragment ScheduleSummary on Schedule {
  scheduleId
  name
  project {
    name
  }
  cron
  every
  timeZone
  overlap
  catchUp
  jitter
  paused
  pausedAt
  pausedBy
  pauseReason
  statusReason
  nextRunAt
  queued
  owner
  createdBy
  createdAt
  updatedAt
}
fragment ScheduleDetail on Schedule {
  ...ScheduleSummary
  nextRuns(first: 5)
  session {
    name
    sessionType
    resourceGroup
    image
    command
    environ {
      name
      value
    }
    secretEnviron
    resourceSlots {
      slot
      amount
    }
    clusterSize
    clusterMode
    batchTimeout
    gpuIdleTimeout
    onHang
    neverRunTwice
    stopGrace
    maxPending
    priority
    labels {
      key
      value
    }
    codeSha256
    allowAgents
    avoidAgents
    excludeAgents
    gpus {
      model
      memory
    }
    agentLabels {
      key
      value
    }
    executorOptions {
      key
      value
    }
    mounts {
      volume
      path
      readOnly
    }
    concurrencyKey
    concurrencyLimit
    retryPolicy {
      ...PartialPolicy
    }
    maxRetries
  }
  lastRuns(first: 5) {
    ...ScheduleRunSummary
    session {
      chain {
        state
      }
    }
  }
}`) as unknown as TypedDocumentString<ResumeScheduleMutation, ResumeScheduleMutationVariables>;
export const RunScheduleNowDocument = new TypedDocumentString(`
    mutation RunScheduleNow($input: RunScheduleNowInput!) {
  runScheduleNow(input: $input) {
    __typename
    ... on RunScheduleNowPayload {
      created
      run {
        ...ScheduleRunSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment ScheduleRunSummary on ScheduleRun {
  runId
  plannedAt
  lastPlannedAt
  count
  outcome
  code
  reason
  askedBy
  decidedAt
  chainId
}`) as unknown as TypedDocumentString<RunScheduleNowMutation, RunScheduleNowMutationVariables>;
export const DeleteScheduleDocument = new TypedDocumentString(`
    mutation DeleteSchedule($input: DeleteScheduleInput!) {
  deleteSchedule(input: $input) {
    __typename
    ... on DeleteSchedulePayload {
      scheduleId
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<DeleteScheduleMutation, DeleteScheduleMutationVariables>;
export const SessionStatisticsDocument = new TypedDocumentString(`
    query SessionStatistics($from: DateTime, $to: DateTime, $bucketSeconds: Int, $project: String, $resourceGroup: String, $user: String, $name: String, $label: LabelInput, $sessionType: [SessionType!]) {
  sessionStatistics(
    from: $from
    to: $to
    bucketSeconds: $bucketSeconds
    project: $project
    resourceGroup: $resourceGroup
    user: $user
    name: $name
    label: $label
    sessionType: $sessionType
  ) {
    from
    to
    bucketSeconds
    total {
      ...Figures
    }
    byCause {
      cause
      failed
      timedOut
      retries
      retriesSucceeded
    }
    byStatus {
      status
      count
    }
    usage {
      result
      sessions
      peakMemoryBytes
      cpuSeconds
      wallSeconds
    }
    buckets {
      from
      to
      figures {
        ...Figures
      }
    }
  }
}
    fragment Figures on SessionFigures {
  ended
  succeeded
  failed
  cancelled
  retries
  retriesSucceeded
  retryRate
  retrySuccessRate
  held
  waiting
}`) as unknown as TypedDocumentString<SessionStatisticsQuery, SessionStatisticsQueryVariables>;
export const SessionDocument = new TypedDocumentString(`
    query Session($id: UUID!) {
  session(id: $id) {
    ...SessionDetail
  }
}
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}
fragment Usage on Usage {
  peakMemoryBytes
  cpuSeconds
  wallSeconds
  source
}
fragment KernelSummary on Kernel {
  id
  kernelId
  role
  index
  host
  slurmJobId
  status
  exitCode
  exitSignal {
    name
    number
  }
  usage {
    ...Usage
  }
  oomKilled
  reason
  agent {
    agentId
    name
  }
  startedAt
  terminatedAt
}
fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}
fragment Attempt on Session {
  ...SessionSummary
  exitSignal {
    name
    number
  }
  usage {
    ...Usage
  }
  checkpoint {
    state
    fromAttempt
    bytes
    store
    publishedAt
    note
  }
  parentSession {
    sessionId
    imageDigest
  }
  kernels {
    ...KernelSummary
  }
  retryDecision {
    ...Decision
  }
}
fragment Policy on RetryPolicy {
  maxRetries
  delays
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  checkpoint
  checkpointWait
  pinImage
  oomIsFailure
  progressTimeout
  rules {
    ...Rule
  }
  sources {
    field
    source
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    from
    factor
    max
  }
  scaleGpuMemory {
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment OutputsSummary on Outputs {
  state
  id
  bytes
  fileCount
  reasons
  completedAt
  expiresAt
  pinned
  paths
  when
  keepDays
  place {
    node
    directory
  }
}
fragment SessionDetail on Session {
  ...Attempt
  image
  command
  environ {
    name
    value
  }
  secretEnviron
  codeSha256
  imageDigest
  requiredImageDigest
  requiredGpus {
    model
    memoryBytes
  }
  gpus {
    uuid
    index
    name
  }
  gpuUsage {
    peakMemoryBytes
    meanUtilization
    peakUtilization
    energyJoules
    gpuSeconds
  }
  executorOptions {
    key
    value
  }
  mounts {
    volume
    path
    readOnly
  }
  outputs {
    ...OutputsSummary
  }
  inputs {
    from
    match
    to
  }
  concurrencyKey
  concurrencyLimit
  resourceSlots {
    slot
    amount
  }
  clusterMode
  clusterSize
  batchTimeout
  onHang
  neverRunTwice
  stopGrace
  maxPending
  startsAt
  childSession {
    sessionId
  }
  retryPolicy {
    ...Policy
  }
  retryChain {
    ...Attempt
  }
}`) as unknown as TypedDocumentString<SessionQuery, SessionQueryVariables>;
export const SessionsDocument = new TypedDocumentString(`
    query Sessions($filter: SessionFilter, $orderBy: [SessionOrder!], $first: Int, $after: String, $withTotal: Boolean = false) {
  sessions(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    totalCount @include(if: $withTotal)
    totalCountIsExact @include(if: $withTotal)
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...SessionSummary
        usage {
          ...Usage
        }
      }
    }
  }
}
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}
fragment Usage on Usage {
  peakMemoryBytes
  cpuSeconds
  wallSeconds
  source
}`) as unknown as TypedDocumentString<SessionsQuery, SessionsQueryVariables>;
export const SessionHistoryDocument = new TypedDocumentString(`
    query SessionHistory($id: UUID!, $first: Int, $after: String) {
  session(id: $id) {
    schedulingHistory(first: $first, after: $after) {
      pageInfo {
        hasNextPage
        endCursor
      }
      edges {
        cursor
        node {
          handler
          fromStatus
          toStatus
          result
          errorCode
          message
          agents {
            agentId
            name
          }
          attempts
          firstAt
          lastAt
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SessionHistoryQuery, SessionHistoryQueryVariables>;
export const CreateSessionDocument = new TypedDocumentString(`
    mutation CreateSession($input: CreateSessionInput!) {
  createSession(input: $input) {
    __typename
    ... on CreateSessionPayload {
      created
      session {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<CreateSessionMutation, CreateSessionMutationVariables>;
export const CreateSessionsDocument = new TypedDocumentString(`
    mutation CreateSessions($input: CreateSessionsInput!) {
  createSessions(input: $input) {
    __typename
    ... on CreateSessionsPayload {
      results {
        __typename
        ... on CreateSessionPayload {
          created
          session {
            ...SessionSummary
          }
        }
        ...Failure
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<CreateSessionsMutation, CreateSessionsMutationVariables>;
export const TerminateSessionDocument = new TypedDocumentString(`
    mutation TerminateSession($input: TerminateSessionInput!) {
  terminateSession(input: $input) {
    __typename
    ... on TerminateSessionPayload {
      session {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<TerminateSessionMutation, TerminateSessionMutationVariables>;
export const CancelRetryDocument = new TypedDocumentString(`
    mutation CancelRetry($input: CancelRetryInput!) {
  cancelRetry(input: $input) {
    __typename
    ... on CancelRetryPayload {
      session {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<CancelRetryMutation, CancelRetryMutationVariables>;
export const RetryNowDocument = new TypedDocumentString(`
    mutation RetryNow($input: RetryNowInput!) {
  retryNow(input: $input) {
    __typename
    ... on RetryNowPayload {
      session {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<RetryNowMutation, RetryNowMutationVariables>;
export const UpdateRetryDocument = new TypedDocumentString(`
    mutation UpdateRetry($input: UpdateRetryInput!) {
  updateRetry(input: $input) {
    __typename
    ... on UpdateRetryPayload {
      session {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  progress
  progressAt
  impossible
  exitCode
  failureCause
  failureReason
  timedOut
  batchTimeout
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  user
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    dueAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<UpdateRetryMutation, UpdateRetryMutationVariables>;
export const KernelLogTailDocument = new TypedDocumentString(`
    query KernelLogTail($id: ID!, $last: Int, $before: String, $since: DateTime) {
  node(id: $id) {
    __typename
    ... on Kernel {
      logs(last: $last, before: $before, since: $since) {
        pageInfo {
          hasPreviousPage
          startCursor
        }
        edges {
          cursor
          node {
            cursor
            stream
            text
            at
          }
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<KernelLogTailQuery, KernelLogTailQueryVariables>;
export const KernelLogPageDocument = new TypedDocumentString(`
    query KernelLogPage($id: ID!, $first: Int, $after: String, $since: DateTime) {
  node(id: $id) {
    __typename
    ... on Kernel {
      logs(first: $first, after: $after, since: $since) {
        pageInfo {
          hasNextPage
          endCursor
        }
        edges {
          cursor
          node {
            cursor
            stream
            text
            at
          }
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<KernelLogPageQuery, KernelLogPageQueryVariables>;
export const KernelLogsDocument = new TypedDocumentString(`
    subscription KernelLogs($kernelId: UUID!, $after: String) {
  kernelLogs(kernelId: $kernelId, after: $after) {
    cursor
    stream
    text
    at
  }
}
    `) as unknown as TypedDocumentString<KernelLogsSubscription, KernelLogsSubscriptionVariables>;
export const SessionKernelsDocument = new TypedDocumentString(`
    query SessionKernels($id: UUID!) {
  session(id: $id) {
    sessionId
    attempt
    kernels {
      id
      kernelId
      role
      index
    }
  }
}
    `) as unknown as TypedDocumentString<SessionKernelsQuery, SessionKernelsQueryVariables>;
export const FailureCountsDocument = new TypedDocumentString(`
    query FailureCounts($by: FailureGrouping!, $from: DateTime, $to: DateTime, $project: String, $resourceGroup: String, $user: String, $name: String, $label: LabelInput, $sessionType: [SessionType!], $cause: [FailureCause!], $timedOut: Boolean, $first: Int) {
  failureCounts(
    by: $by
    from: $from
    to: $to
    project: $project
    resourceGroup: $resourceGroup
    user: $user
    name: $name
    label: $label
    sessionType: $sessionType
    cause: $cause
    timedOut: $timedOut
    first: $first
  ) {
    cause
    timedOut
    exitCode
    name
    label {
      key
      value
    }
    agentId
    agentName
    failed
    chains
    lost
    latestAt
  }
}
    `) as unknown as TypedDocumentString<FailureCountsQuery, FailureCountsQueryVariables>;
export const QueueDocument = new TypedDocumentString(`
    query Queue($resourceGroup: String!, $first: Int, $after: String) {
  queue(resourceGroup: $resourceGroup, first: $first, after: $after) {
    edges {
      node {
        sessionId
        chainId
        name
        attempt
        priority
        createdAt
        project {
          name
        }
        queuePlace {
          before
          expectedStartAt
          whyUnknown
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<QueueQuery, QueueQueryVariables>;
export const WebhooksDocument = new TypedDocumentString(`
    query Webhooks($project: String, $enabled: Boolean, $idPrefix: String, $first: Int, $after: String) {
  webhooks(
    project: $project
    enabled: $enabled
    idPrefix: $idPrefix
    first: $first
    after: $after
  ) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...WebhookSummary
      }
    }
  }
}
    fragment WebhookSummary on Webhook {
  webhookId
  url
  description
  eventTypes
  project {
    name
  }
  chainId
  labels {
    key
    value
  }
  enabled
  disabledAt
  disabledReason
  failingSince
  restingUntil
  lastDeliveredAt
  previousSecretExpiresAt
  createdAt
}`) as unknown as TypedDocumentString<WebhooksQuery, WebhooksQueryVariables>;
export const WebhookDeliveriesDocument = new TypedDocumentString(`
    query WebhookDeliveries($webhookId: UUID!, $status: [WebhookDeliveryStatus!], $idPrefix: String, $first: Int, $after: String) {
  webhookDeliveries(
    webhookId: $webhookId
    status: $status
    idPrefix: $idPrefix
    first: $first
    after: $after
  ) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...Delivery
      }
    }
  }
}
    fragment Delivery on WebhookDelivery {
  deliveryId
  messageId
  eventType
  status
  sessionId
  chainId
  occurredAt
  createdAt
  nextAttemptAt
  finishedAt
  attempts {
    number
    startedAt
    durationSeconds
    statusCode
    error
    response
  }
}`) as unknown as TypedDocumentString<WebhookDeliveriesQuery, WebhookDeliveriesQueryVariables>;
export const CreateWebhookDocument = new TypedDocumentString(`
    mutation CreateWebhook($input: CreateWebhookInput!) {
  createWebhook(input: $input) {
    __typename
    ... on CreateWebhookPayload {
      secret
      webhook {
        ...WebhookSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment WebhookSummary on Webhook {
  webhookId
  url
  description
  eventTypes
  project {
    name
  }
  chainId
  labels {
    key
    value
  }
  enabled
  disabledAt
  disabledReason
  failingSince
  restingUntil
  lastDeliveredAt
  previousSecretExpiresAt
  createdAt
}`) as unknown as TypedDocumentString<CreateWebhookMutation, CreateWebhookMutationVariables>;
export const UpdateWebhookDocument = new TypedDocumentString(`
    mutation UpdateWebhook($input: UpdateWebhookInput!) {
  updateWebhook(input: $input) {
    __typename
    ... on UpdateWebhookPayload {
      webhook {
        ...WebhookSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment WebhookSummary on Webhook {
  webhookId
  url
  description
  eventTypes
  project {
    name
  }
  chainId
  labels {
    key
    value
  }
  enabled
  disabledAt
  disabledReason
  failingSince
  restingUntil
  lastDeliveredAt
  previousSecretExpiresAt
  createdAt
}`) as unknown as TypedDocumentString<UpdateWebhookMutation, UpdateWebhookMutationVariables>;
export const DeleteWebhookDocument = new TypedDocumentString(`
    mutation DeleteWebhook($input: DeleteWebhookInput!) {
  deleteWebhook(input: $input) {
    __typename
    ... on DeleteWebhookPayload {
      webhookId
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<DeleteWebhookMutation, DeleteWebhookMutationVariables>;
export const RotateWebhookSecretDocument = new TypedDocumentString(`
    mutation RotateWebhookSecret($input: RotateWebhookSecretInput!) {
  rotateWebhookSecret(input: $input) {
    __typename
    ... on RotateWebhookSecretPayload {
      secret
      webhook {
        ...WebhookSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment WebhookSummary on Webhook {
  webhookId
  url
  description
  eventTypes
  project {
    name
  }
  chainId
  labels {
    key
    value
  }
  enabled
  disabledAt
  disabledReason
  failingSince
  restingUntil
  lastDeliveredAt
  previousSecretExpiresAt
  createdAt
}`) as unknown as TypedDocumentString<RotateWebhookSecretMutation, RotateWebhookSecretMutationVariables>;
export const SendTestEventDocument = new TypedDocumentString(`
    mutation SendTestEvent($input: SendTestEventInput!) {
  sendTestEvent(input: $input) {
    __typename
    ... on SendTestEventPayload {
      delivery {
        ...Delivery
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment Delivery on WebhookDelivery {
  deliveryId
  messageId
  eventType
  status
  sessionId
  chainId
  occurredAt
  createdAt
  nextAttemptAt
  finishedAt
  attempts {
    number
    startedAt
    durationSeconds
    statusCode
    error
    response
  }
}`) as unknown as TypedDocumentString<SendTestEventMutation, SendTestEventMutationVariables>;
export const ReplayDeliveryDocument = new TypedDocumentString(`
    mutation ReplayDelivery($input: ReplayDeliveryInput!) {
  replayDelivery(input: $input) {
    __typename
    ... on ReplayDeliveryPayload {
      delivery {
        ...Delivery
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}
fragment Delivery on WebhookDelivery {
  deliveryId
  messageId
  eventType
  status
  sessionId
  chainId
  occurredAt
  createdAt
  nextAttemptAt
  finishedAt
  attempts {
    number
    startedAt
    durationSeconds
    statusCode
    error
    response
  }
}`) as unknown as TypedDocumentString<ReplayDeliveryMutation, ReplayDeliveryMutationVariables>;
export const ReplayWebhookDocument = new TypedDocumentString(`
    mutation ReplayWebhook($input: ReplayWebhookInput!) {
  replayWebhook(input: $input) {
    __typename
    ... on ReplayWebhookPayload {
      replayed
      more
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
  ... on ConflictError {
    existing {
      __typename
      id
    }
  }
  ... on InvalidStateError {
    childSession {
      sessionId
    }
  }
}`) as unknown as TypedDocumentString<ReplayWebhookMutation, ReplayWebhookMutationVariables>;
