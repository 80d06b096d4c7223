import { allPages, payloadOf } from './answers.ts'
import type { CallOptions, Connection } from './connection/connection.ts'
import {
  AgentsDocument,
  CreateResourceGroupDocument,
  DeleteResourceGroupDocument,
  DrainAgentDocument,
  RemoveAgentDocument,
  ResourceGroupsDocument,
  ResumeAgentDocument,
  ReturnGpuDocument,
  TakeGpuDocument,
  UpdateResourceGroupDocument,
  VolumesDocument,
} from './operations.generated.ts'
import type { AgentFilter, CreateResourceGroupInput, UpdateResourceGroupInput } from './schema-types.generated.ts'

/** Operations for agents and for the resource groups that they belong to. */
export function agentOperations({ request }: Connection) {
  return {
    /** Lists the agents, which run kernels, ordered by name. */
    agents(filter?: AgentFilter, options?: CallOptions) {
      return allPages(async (page) => (await request(AgentsDocument, { filter, ...page }, options)).agents)
    },

    /**
     * Gives an agent no new work; running kernels keep running. @throws NotFoundError, InvalidStateError,
     * ForbiddenError
     */
    async drainAgent(agentId: string, reason?: string, options?: CallOptions) {
      const data = await request(DrainAgentDocument, { input: { agentId, reason } }, options)
      return payloadOf(data.drainAgent).agent
    },

    /** @throws NotFoundError, InvalidStateError, ForbiddenError */
    async resumeAgent(agentId: string, reason?: string, options?: CallOptions) {
      const data = await request(ResumeAgentDocument, { input: { agentId, reason } }, options)
      return payloadOf(data.resumeAgent).agent
    },

    /**
     * Puts a GPU back into service that its agent has taken out because of a fault. The agent does it within seconds.
     * @throws NotFoundError, ForbiddenError
     */
    async returnGpu(agentId: string, uuid: string, reason?: string, options?: CallOptions) {
      const data = await request(ReturnGpuDocument, { input: { agentId, uuid, reason } }, options)
      return payloadOf(data.returnGpu).agent
    },

    /**
     * Takes a GPU out of service until it is returned; sessions that have it run on. The agent does it within seconds.
     * @throws NotFoundError, ForbiddenError
     */
    async takeGpu(agentId: string, uuid: string, reason?: string, options?: CallOptions) {
      const data = await request(TakeGpuDocument, { input: { agentId, uuid, reason } }, options)
      return payloadOf(data.takeGpu).agent
    },

    /**
     * Removes an agent that is lost or drained and has no kernels. @throws NotFoundError, InvalidStateError,
     * ForbiddenError
     */
    async removeAgent(agentId: string, reason?: string, options?: CallOptions) {
      const data = await request(RemoveAgentDocument, { input: { agentId, reason } }, options)
      return payloadOf(data.removeAgent).agent
    },

    /**
     * Lists the volumes, which are directories on agents, ordered by name. With the token of a project, only those that
     * it may use.
     */
    async volumes(options?: CallOptions) {
      return (await request(VolumesDocument, {}, options)).volumes
    },

    async resourceGroups(options?: CallOptions) {
      return (await request(ResourceGroupsDocument, {}, options)).resourceGroups
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
  }
}
