import { z } from 'zod'
import type { FailureRule } from '../../domain/insight/fingerprint.ts'
import { FAILURE_PATTERN_LENGTH_MAX, FAILURE_RULES_MAX, NAME_LENGTH_MAX } from '../../domain/limits.ts'
import { findScopeId } from '../../store/sql/retry/retry-defaults.sql.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { readFailureRules as read, replaceFailureRules } from '../../store/sql/insight/failures.sql.ts'
import { actorOf, assertMayAdminister } from '../access/authorize.ts'
import { entityName, mayBeName, text } from '../input/input-fields.ts'
import { parseInput } from '../input/parse-input.ts'
import { projectNotFound } from '../access/tenants.ts'
import { resolveScope } from '../retry/retry-defaults.ts'
import type { ServiceContext } from '../service-context.ts'

const rule = z.strictObject({ pattern: text(FAILURE_PATTERN_LENGTH_MAX), name: text(NAME_LENGTH_MAX) })
const schema = z.strictObject({ project: entityName, rules: z.array(rule).max(FAILURE_RULES_MAX) })

export interface SetFailureRulesInput {
  project: string
  /** They replace those before. */
  rules: readonly FailureRule[]
}

/**
 * Sets the rules by which failures of a project are grouped that are decided from now on; for its administrators.
 *
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND
 */
export async function setFailureRules(
  context: ServiceContext,
  input: SetFailureRulesInput,
): Promise<{ id: string; rules: FailureRule[] }> {
  assertMayAdminister(context.viewer, 'PROJECT')
  const { project, rules } = parseInput(schema, input)
  const { id } = await resolveScope(context, { scope: 'PROJECT', name: project })
  await context.db.transaction(async (tx) => {
    const before = await replaceFailureRules(tx, id, rules)
    const details = { project, before, after: rules }
    await recordAudit(tx, {
      actor: actorOf(context.viewer),
      action: 'failure_group.set_rules',
      projectId: id,
      details,
    })
  })
  return { id, rules }
}

/**
 * Reads the rules of a project that the viewer sees.
 *
 * @throws RepriseError PROJECT_NOT_FOUND
 */
export async function readFailureRules(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  project: string,
): Promise<FailureRule[]> {
  const id = mayBeName(project) ? await findScopeId(db, 'PROJECT', project, viewer.projectId) : undefined
  if (id === undefined) throw await projectNotFound({ db, viewer }, project)
  return (await read(db, [id])).get(id) ?? []
}
