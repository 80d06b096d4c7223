import type { CallOptions, Connection } from './connection.ts'
import { AgentsDocument, ProjectsDocument, ResourceGroupsDocument, type AgentFilter } from './operations.generated.ts'
import { allPages } from './pages.ts'

export function clusterOperations(connection: Connection) {
  const { request } = connection
  return {
    /** The nodes that run kernels, by name. */
    agents(filter?: AgentFilter, options?: CallOptions) {
      return allPages(async (page) => (await request(AgentsDocument, { filter, ...page }, options)).agents)
    },

    async resourceGroups(options?: CallOptions) {
      return (await request(ResourceGroupsDocument, {}, options)).resourceGroups
    },

    projects(options?: CallOptions) {
      return allPages(async (page) => (await request(ProjectsDocument, page, options)).projects)
    },
  }
}
