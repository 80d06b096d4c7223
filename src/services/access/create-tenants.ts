import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { addDomain, addProject, addUser } from '../../store/sql/access/tenants.sql.ts'
import { assertMayAdminister } from './authorize.ts'
import { entityName } from '../input/entity-name.ts'
import { requireIsolation } from './require-isolation.ts'
import { parseInput } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from './actor.ts'

const named = z.strictObject({ name: entityName })
const inDomain = named.extend({ domain: entityName.nullish() })

export type CreateNamedInput = z.input<typeof named>
export type CreateProjectInput = z.input<typeof inDomain>

/** @throws RepriseError FORBIDDEN, VALIDATION_FAILED, NAME_TAKEN */
export async function createDomain(context: ServiceContext, input: CreateNamedInput): Promise<{ id: string }> {
  return create(context, 'domain', parsed(context, named, input), addDomain)
}

/**
 * A person whose sessions can be limited and who can own tokens. @throws RepriseError FORBIDDEN, VALIDATION_FAILED,
 * NAME_TAKEN
 */
export async function createUser(context: ServiceContext, input: CreateNamedInput): Promise<{ id: string }> {
  return create(context, 'user', parsed(context, named, input), addUser)
}

/**
 * In the domain `default` unless another is named. @throws RepriseError FORBIDDEN, VALIDATION_FAILED, NAME_TAKEN,
 * DOMAIN_NOT_FOUND, ISOLATION_REQUIRED
 */
export async function createProject(context: ServiceContext, input: CreateProjectInput): Promise<{ id: string }> {
  const { name, domain } = parsed(context, inDomain, input)
  await requireIsolation(context.db, 'another project')
  return create(context, 'project', { name }, async (db, project) => {
    const { added, domainFound } = await addProject(db, { ...project, domain: domain ?? 'default' })
    if (!domainFound) throw new RepriseError('DOMAIN_NOT_FOUND', `no domain ${domain}`)
    return added
  })
}

function parsed<Schema extends z.ZodType>(context: ServiceContext, schema: Schema, input: unknown): z.output<Schema> {
  assertMayAdminister(context.viewer, 'CLUSTER')
  return parseInput(schema, input)
}

async function create(
  { db, viewer }: ServiceContext,
  kind: 'domain' | 'project' | 'user',
  { name }: { name: string },
  add: typeof addDomain,
): Promise<{ id: string }> {
  const id = uuidv7()
  if (await add(db, { id, name, actor: actorOf(viewer) })) return { id }
  throw new RepriseError('NAME_TAKEN', `there is a ${kind} ${name} already`)
}
