import type { CallOptions, Connection } from './connection/connection.ts'
import {
  AgentsDocument,
  CreateDomainDocument,
  CreateProjectDocument,
  CreateResourceGroupDocument,
  CreateUserDocument,
  DeleteResourceGroupDocument,
  DomainsDocument,
  DrainAgentDocument,
  ProjectsDocument,
  QuotasDocument,
  RemoveAgentDocument,
  RemoveProjectMemberDocument,
  ResourceGroupsDocument,
  ResumeAgentDocument,
  SessionStatisticsDocument,
  SetProjectMemberDocument,
  SetQuotaDocument,
  UpdateResourceGroupDocument,
  UsersDocument,
  VolumesDocument,
  type SessionStatisticsQueryVariables,
} from './operations.generated.ts'
import type {
  AgentFilter,
  CreateProjectInput,
  CreateResourceGroupInput,
  RemoveProjectMemberInput,
  SetProjectMemberInput,
  SetQuotaInput,
  UpdateResourceGroupInput,
} from './schema-types.generated.ts'
import { allPages } from './pages.ts'
import { payloadOf } from './payload.ts'

export function administrationOperations(connection: Connection) {
  const { request } = connection
  return {
    /** The nodes that run kernels, by name. */
    agents(filter?: AgentFilter, options?: CallOptions) {
      return allPages(async (page) => (await request(AgentsDocument, { filter, ...page }, options)).agents)
    },

    /** It gets no new work; running kernels keep running. @throws NotFoundError, InvalidStateError, ForbiddenError */
    async drainAgent(agentId: string, reason?: string, options?: CallOptions) {
      const data = await request(DrainAgentDocument, { input: { agentId, reason } }, options)
      return payloadOf(data.drainAgent).agent
    },

    /** @throws NotFoundError, InvalidStateError, ForbiddenError */
    async resumeAgent(agentId: string, reason?: string, options?: CallOptions) {
      const data = await request(ResumeAgentDocument, { input: { agentId, reason } }, options)
      return payloadOf(data.resumeAgent).agent
    },

    /** One that is lost or drained and has no kernels. @throws NotFoundError, InvalidStateError, ForbiddenError */
    async removeAgent(agentId: string, reason?: string, options?: CallOptions) {
      const data = await request(RemoveAgentDocument, { input: { agentId, reason } }, options)
      return payloadOf(data.removeAgent).agent
    },

    /** @throws ValidationError, ConflictError, ForbiddenError */
    async createResourceGroup(input: CreateResourceGroupInput, options?: CallOptions) {
      return payloadOf((await request(CreateResourceGroupDocument, { input }, options)).createResourceGroup)
        .resourceGroup
    },

    /** @throws ValidationError, NotFoundError, ForbiddenError */
    async updateResourceGroup(input: UpdateResourceGroupInput, options?: CallOptions) {
      return payloadOf((await request(UpdateResourceGroupDocument, { input }, options)).updateResourceGroup)
        .resourceGroup
    },

    /** @throws NotFoundError, InvalidStateError, ForbiddenError */
    async deleteResourceGroup(name: string, options?: CallOptions) {
      return payloadOf((await request(DeleteResourceGroupDocument, { input: { name } }, options)).deleteResourceGroup)
        .name
    },

    /** Counts and rates of sessions that ended within a span of time. @throws ValidationError */
    async sessionStatistics(query: SessionStatisticsQueryVariables = {}, options?: CallOptions) {
      return (await request(SessionStatisticsDocument, query, options)).sessionStatistics
    },

    /** Directories that agents have under a name, by that name; for a project's token those that it may use. */
    async volumes(options?: CallOptions) {
      return (await request(VolumesDocument, {}, options)).volumes
    },

    async resourceGroups(options?: CallOptions) {
      return (await request(ResourceGroupsDocument, {}, options)).resourceGroups
    },

    /** Limits and their use. */
    async quotas(options?: CallOptions) {
      return (await request(QuotasDocument, {}, options)).quotas
    },

    /** @throws ValidationError, NotFoundError, ForbiddenError */
    async setQuota(input: SetQuotaInput, options?: CallOptions) {
      return payloadOf((await request(SetQuotaDocument, { input }, options)).setQuota).quota
    },

    /** @throws ValidationError, NotFoundError, ConflictError, ForbiddenError */
    async createProject(input: CreateProjectInput, options?: CallOptions) {
      return payloadOf((await request(CreateProjectDocument, { input }, options)).createProject).project
    },

    /** Adds a user to a project, or changes the role there. @throws NotFoundError, ForbiddenError */
    async setProjectMember(input: SetProjectMemberInput, options?: CallOptions) {
      return payloadOf((await request(SetProjectMemberDocument, { input }, options)).setProjectMember).project
    },

    /** @throws NotFoundError, ForbiddenError */
    async removeProjectMember(input: RemoveProjectMemberInput, options?: CallOptions) {
      payloadOf((await request(RemoveProjectMemberDocument, { input }, options)).removeProjectMember)
    },

    users(options?: CallOptions) {
      // Null comes with an error, and that is thrown.
      return allPages(async (page) => (await request(UsersDocument, page, options)).users)
    },

    /** @throws ValidationError, ConflictError, ForbiddenError */
    async createUser(name: string, options?: CallOptions) {
      return payloadOf((await request(CreateUserDocument, { input: { name } }, options)).createUser).user
    },

    domains(options?: CallOptions) {
      return allPages(async (page) => (await request(DomainsDocument, page, options)).domains)
    },

    /** @throws ValidationError, ConflictError, ForbiddenError */
    async createDomain(name: string, options?: CallOptions) {
      return payloadOf((await request(CreateDomainDocument, { input: { name } }, options)).createDomain).domain
    },

    projects(options?: CallOptions) {
      return allPages(async (page) => (await request(ProjectsDocument, page, options)).projects)
    },
  }
}
