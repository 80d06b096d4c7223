import { v7 as uuidv7 } from 'uuid'
import { NotFoundError } from './api-errors.ts'
import type { CallOptions, Connection } from './connection.ts'
import { eventOperations } from './events.ts'
import {
  CreateDeploymentDocument,
  DeploymentDocument,
  DeploymentsDocument,
  DestroyDeploymentDocument,
  ScaleDeploymentDocument,
  UpdateDeploymentDocument,
  type CreateDeploymentInput,
  type DeploymentDetailFragment,
  type DeploymentFilter,
  type DeploymentOrder,
  type ScaleDeploymentInput,
  type UpdateDeploymentInput,
} from './operations.generated.ts'
import { allPages } from './pages.ts'
import { payloadOf } from './payload.ts'
import { closeable } from './streams/closeable.ts'
import { watchChanges } from './streams/watch-changes.ts'

export interface DeploymentWaitOptions extends CallOptions {
  /** Whenever it has changed, beginning with how it is at first. */
  onDeployment?: (now: DeploymentDetailFragment) => void
}

export function deploymentOperations(connection: Connection) {
  const { request } = connection

  async function deployment(deploymentId: string, options?: CallOptions): Promise<DeploymentDetailFragment> {
    const data = await request(DeploymentDocument, { id: deploymentId }, options)
    if (data.deployment) return data.deployment
    throw new NotFoundError('DEPLOYMENT_NOT_FOUND', `There is no deployment ${deploymentId}.`)
  }

  function watch(deploymentId: string, options: CallOptions & { signal: AbortSignal }) {
    const { deploymentEvents, eventCursor } = eventOperations(connection)
    return watchChanges({
      cursor: () => eventCursor(options),
      read: () => deployment(deploymentId, options),
      events: (after) => deploymentEvents({ deploymentId }, { ...options, after }),
      isLast: ({ settled }) => settled,
      signal: options.signal,
    })
  }

  return {
    /**
     * Creates a deployment, once: a `creationId` is made where none is given, so that it can be sent again safely.
     * @throws ValidationError, NotFoundError, ConflictError, QuotaExceededError, ForbiddenError
     */
    async createDeployment(input: CreateDeploymentInput, options?: CallOptions) {
      const keyed = { ...input, creationId: input.creationId ?? uuidv7() }
      const data = await request(CreateDeploymentDocument, { input: keyed }, { ...options, idempotent: true })
      const { deployment: made, created } = payloadOf(data.createDeployment)
      return { deployment: made, created }
    },

    /** Everything about a deployment, with its routes that are not gone. @throws NotFoundError */
    deployment,

    /** Newest first unless ordered otherwise, page after page; those that are destroyed, too. */
    deployments(
      { filter, orderBy }: { filter?: DeploymentFilter; orderBy?: DeploymentOrder } = {},
      options?: CallOptions,
    ) {
      return allPages(
        async (page) => (await request(DeploymentsDocument, { filter, orderBy, ...page }, options)).deployments,
      )
    },

    /** @throws ValidationError, NotFoundError, InvalidStateError, ForbiddenError */
    async scaleDeployment(input: ScaleDeploymentInput, options?: CallOptions) {
      const data = await request(ScaleDeploymentDocument, { input }, { ...options, idempotent: true })
      return payloadOf(data.scaleDeployment).deployment
    },

    /** A new revision where anything differs. @throws ValidationError, NotFoundError, InvalidStateError, ForbiddenError */
    async updateDeployment(input: UpdateDeploymentInput, options?: CallOptions) {
      const data = await request(UpdateDeploymentDocument, { input }, { ...options, idempotent: true })
      return payloadOf(data.updateDeployment).deployment
    },

    /** @throws NotFoundError, InvalidStateError, ForbiddenError */
    async destroyDeployment(deploymentId: string, reason?: string, options?: CallOptions) {
      const data = await request(DestroyDeploymentDocument, { input: { deploymentId, reason } }, options)
      return payloadOf(data.destroyDeployment).deployment
    },

    /**
     * Until everything that was asked for is done: as many healthy routes of its revision as are wanted and no others,
     * or none and gone where it is destroyed. @throws NotFoundError, the signal's reason
     */
    async waitForDeployment(
      deploymentId: string,
      options: DeploymentWaitOptions = {},
    ): Promise<DeploymentDetailFragment> {
      const changes = closeable([connection.closed, options.signal], (signal) =>
        watch(deploymentId, { ...options, signal }),
      )
      let last: DeploymentDetailFragment | undefined
      for await (last of changes) options.onDeployment?.(last)
      return last!
    },
  }
}
