import { z } from '@hono/zod-openapi'
import { CHAIN_STATES } from '../../domain/chain/chain-state.ts'
import { SEARCH_LENGTH_MAX } from '../../domain/limits.ts'
import { FAILURE_CAUSES, HOLD_REASONS } from '../../domain/session/causes.ts'
import type { ChainConditions } from '../../services/chain/read-chains.ts'
import { withoutNulls } from '../../services/input/without-nulls.ts'
import { ids, integers, label, moment, range, several, toLabel } from '../routes/parameters.ts'

/** Conditions on chains, as parameters. */
export const CHAIN_FILTER = {
  id: ids('With one of these ids.'),
  state: several(CHAIN_STATES, 'In one of these states.'),
  cause: several(FAILURE_CAUSES, 'Whose latest failure had one of these causes.'),
  attempts: range('By how many attempts there are:'),
  project: z.string().optional().openapi({ description: 'In the project of this name.' }),
  name: z.string().optional().openapi({ description: 'With this name.' }),
  name_contains: z.string().optional().openapi({ description: 'With this in the name.' }),
  label: label(),
  search: z
    .string()
    .max(SEARCH_LENGTH_MAX)
    .optional()
    .openapi({ description: 'Beginnings of words in the name and the labels; all must occur.' }),
  resource_group: z
    .string()
    .optional()
    .openapi({ description: 'Whose newest attempt is in the resource group of this name.' }),
  user: z.string().optional().openapi({ description: 'Whose newest attempt belongs to the user of this name.' }),
  exit_code: integers('Whose newest attempt ended with one of these exit codes.'),
  hold_reason: several(HOLD_REASONS, 'Whose retry is held for one of these reasons.'),
  agent_id: z
    .uuid()
    .toLowerCase()
    .optional()
    .openapi({ description: 'With a kernel that is, or was, on the agent of this id.' }),
  due_before: moment('Whose retry is due before then.'),
  created_after: moment('Created then or later.'),
  created_before: moment('Created before then.'),
  active_after: moment('With activity then or later.'),
  active_before: moment('Without activity since then.'),
}

const Conditions = z.object(CHAIN_FILTER)

export function chainConditions(given: z.output<typeof Conditions>): ChainConditions {
  const name = withoutNulls({ equals: given.name, contains: given.name_contains })
  const attempts = withoutNulls({ min: given.attempts?.min, max: given.attempts?.max })
  const createdAt = withoutNulls({ gte: given.created_after, lt: given.created_before })
  const activityAt = withoutNulls({ gte: given.active_after, lt: given.active_before })
  const dueAt = withoutNulls({ lt: given.due_before })
  return {
    ...withoutNulls({
      chainIds: given.id,
      states: given.state && [...new Set(given.state)],
      causes: given.cause && [...new Set(given.cause)],
      project: given.project,
      label: toLabel(given.label),
      search: given.search,
      resourceGroup: given.resource_group,
      user: given.user,
      exitCodes: given.exit_code,
      holdReasons: given.hold_reason && [...new Set(given.hold_reason)],
      agentId: given.agent_id,
    }),
    ...unlessEmpty({ name, attempts, createdAt, activityAt, dueAt }),
  }
}

function unlessEmpty<Groups extends Record<string, object>>(groups: Groups): Partial<Groups> {
  const given = Object.entries(groups).filter(([, conditions]) => Object.keys(conditions).length > 0)
  return Object.fromEntries(given) as Partial<Groups>
}
