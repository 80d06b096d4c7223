import type { CallOptions, Connection } from './connection/connection.ts'
import {
  AgentsDocument,
  DrainAgentDocument,
  ProjectsDocument,
  QuotasDocument,
  ResourceGroupsDocument,
  ResumeAgentDocument,
  SetQuotaDocument,
  type AgentFilter,
  type SetQuotaInput,
} from './operations.generated.ts'
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

    projects(options?: CallOptions) {
      return allPages(async (page) => (await request(ProjectsDocument, page, options)).projects)
    },
  }
}
