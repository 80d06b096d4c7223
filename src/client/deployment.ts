import { v7 as uuidv7 } from 'uuid'
import { NotFoundError } from './errors.ts'
import type { CallOptions, Connection } from './connection/connection.ts'
import { eventOperations } from './event.ts'
import {
  CreateDeploymentDocument,
  type DeploymentDetailFragment,
  DeploymentDocument,
  DeploymentsDocument,
  DestroyDeploymentDocument,
  ScaleDeploymentDocument,
  UpdateDeploymentDocument,
} from './operations.generated.ts'
import type {
  CreateDeploymentInput,
  DeploymentFilter,
  DeploymentOrder,
  ScaleDeploymentInput,
  UpdateDeploymentInput,
} from './schema-types.generated.ts'
import { allPages, payloadOf } from './answers.ts'
import { closeable } from './streams/closeable.ts'
import { watchChanges } from './streams/watch-changes.ts'

export interface DeploymentWaitOptions extends CallOptions {
  /** Called whenever it has changed, starting with its initial state. */
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
     * Creates a deployment exactly once: a missing `creationId` is generated, so that the request can safely be
     * repeated.
     * @throws ValidationError, NotFoundError, ConflictError, QuotaExceededError, ForbiddenError
     */
    async createDeployment(input: CreateDeploymentInput, options?: CallOptions) {
      const keyed = { ...input, creationId: input.creationId ?? uuidv7() }
      const data = await request(CreateDeploymentDocument, { input: keyed }, { ...options, idempotent: true })
      const { deployment: made, created } = payloadOf(data.createDeployment)
      return { deployment: made, created }
    },

    /** Returns everything about a deployment, with its current routes. @throws NotFoundError */
    deployment,

    /** Lists deployments, newest first by default, including destroyed ones. Pages are read as they are needed. */
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

    /**
     * Adds a revision if anything changed. @throws ValidationError, NotFoundError, InvalidStateError, ForbiddenError
     */
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
     * Waits until the deployment has settled: exactly the desired number of healthy routes of its revision and no
     * others, or completely destroyed. @throws NotFoundError, the signal's reason
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
