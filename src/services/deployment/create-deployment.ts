import { inputDigest } from '../session/create-session-input.ts'
import { newId } from '../../store/new-id.ts'
import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { CREATION_ID_LENGTH_MAX, DEPLOYMENTS_PER_PROJECT_MAX, NAME_LENGTH_MAX } from '../../domain/limits.ts'
import { readProjectScopes } from '../../store/sql/session/creation-scope.sql.ts'
import {
  countDeployments,
  findDeploymentByCreationId,
  findDeploymentByName,
  insertDeployment,
  type KnownDeployment,
  type NewDeployment,
} from '../../store/sql/deployment/change-deployment.sql.ts'
import { actorOf, assertMayChange } from '../access/authorize.ts'
import { fillProject, projectNotFound } from '../access/tenants.ts'
import {
  assertHasVolumes,
  assertServes,
  checkPortVariable,
  deploymentName,
  deploymentSpecFields,
  type HealthCheckInput,
  replicas,
  specOf,
} from './deployment-fields.ts'
import { parseInput, withoutNulls } from '../input/parse-input.ts'
import { rolloutIssues } from './change-deployment.ts'
import { sealEnviron } from '../session/plan-attempt.ts'
import type { ServiceContext } from '../service-context.ts'
import { besideOtherFaults, checkGpus, checkSecrets } from '../session/session-fields.ts'
import { text } from '../input/input-fields.ts'

export const createDeploymentSchema = z
  .strictObject({
    name: deploymentName,
    project: text(NAME_LENGTH_MAX).default('default'),
    ...deploymentSpecFields,
    replicas: replicas.default(1),
    minHealthy: replicas.nullable().default(null),
    maxSurge: replicas.nullable().default(null),
    creationId: text(CREATION_ID_LENGTH_MAX).optional(),
  })
  .superRefine(checkPortVariable, { when: besideOtherFaults })
  .superRefine(checkSecrets, { when: besideOtherFaults })
  .superRefine(checkGpus, { when: besideOtherFaults })
  .superRefine(
    (input, context) => {
      for (const { path, message } of rolloutIssues(input)) context.addIssue({ code: 'custom', path: [path], message })
    },
    { when: besideOtherFaults },
  )

type Written = z.input<typeof createDeploymentSchema>
type Required = 'name' | 'command'

/** A deployment as a client gives it. Everything but name and command has a default; null counts as missing. */
export type CreateDeploymentInput = Pick<Written, Required> & {
  [Field in Exclude<keyof Written, Required | 'healthCheck'>]?: Written[Field] | null
} & { healthCheck?: HealthCheckInput | null }

export interface CreatedDeployment {
  deploymentId: string
  /** False if the creation id was known: the result is the existing deployment. */
  created: boolean
}

/**
 * Creates a deployment with its first revision; background services start its replicas.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, RESOURCE_GROUP_NOT_FOUND, NAME_TAKEN,
 * CREATION_ID_REUSED, QUOTA_EXCEEDED
 */
export async function createDeployment(
  context: ServiceContext,
  input: CreateDeploymentInput,
): Promise<CreatedDeployment> {
  const { db, viewer, wake, log } = context
  assertMayChange(viewer)
  const given = await fillProject(context, input)
  const asked = parseInput(
    createDeploymentSchema,
    withoutNulls({ ...given, healthCheck: withoutNulls(given.healthCheck) }),
  )
  const { name, project, replicas: wanted, minHealthy, maxSurge, creationId, ...spec } = asked
  const projectId = (await readProjectScopes(db, [project], viewer.projectId)).get(project)?.id
  if (projectId === undefined) throw await projectNotFound(context, project)
  await assertServes(db, spec.resourceGroup)
  const id = newId()
  const secrets = sealEnviron(context.secrets, spec.secretEnviron)
  const created = await add(context, {
    id,
    projectId,
    userId: viewer.userId,
    creationId: creationId ?? id,
    creationDigest: creationId === undefined ? null : inputDigest(asked, secrets),
    name,
    replicas: wanted,
    minHealthy,
    maxSurge,
    actor: actorOf(viewer),
    spec: specOf(spec, secrets),
  })
  if (!created.created) return created
  wake.wake('drive-deployments', 'events')
  log.debug({ deploymentId: id, name, replicas: wanted }, 'created a deployment')
  return created
}

/** A known creation id returns the existing deployment, even if a quota is used up. */
function add({ db }: ServiceContext, deployment: NewDeployment): Promise<CreatedDeployment> {
  const { id, projectId, name } = deployment
  return db.transaction(async (tx) => {
    const count = await countDeployments(tx, projectId)
    const known = await findDeploymentByCreationId(tx, deployment)
    if (known) return repeated(deployment, known)
    await assertHasVolumes(tx, projectId, deployment.spec)
    if (count >= DEPLOYMENTS_PER_PROJECT_MAX) {
      const message = `the project already has ${DEPLOYMENTS_PER_PROJECT_MAX} deployments, and that is the limit`
      throw new RepriseError('QUOTA_EXCEEDED', message)
    }
    if (!(await insertDeployment(tx, deployment))) {
      const message = `there is a deployment ${name} in its project already`
      const taker = await findDeploymentByName(tx, projectId, name)
      throw new RepriseError('NAME_TAKEN', message, [], taker === undefined ? null : { type: 'Deployment', id: taker })
    }
    return { deploymentId: id, created: true }
  })
}

/** The deployment that the creation id already names, if the inputs are equal. */
function repeated(asked: NewDeployment, known: KnownDeployment): CreatedDeployment {
  if (known.creationDigest === null || known.creationDigest === asked.creationDigest) {
    return { deploymentId: known.id, created: false }
  }
  const message = `the creation id ${asked.creationId} belongs to deployment ${known.id}, which was created with another input`
  throw new RepriseError('CREATION_ID_REUSED', message, [], { type: 'Deployment', id: known.id })
}
