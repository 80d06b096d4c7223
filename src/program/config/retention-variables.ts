import { parseRetention, type Retention } from '../../domain/retention.ts'
import { retention } from './values.ts'
import type { Documentation, Variable } from './variable.ts'

export const RETENTION_VARIABLES = {
  keepChains: kept({
    name: 'REPRISE_KEEP_CHAINS',
    default: 'forever',
    meaning:
      'How long, or how many per project, finished chains are kept, with everything that belongs to them: `90d` (h, d, w, y), `100000`, both separated by a comma, or `forever`. No chain is removed before its events.',
  }),
  keepEvents: kept({
    name: 'REPRISE_KEEP_EVENTS',
    default: '30d',
    meaning: 'The same for events. A subscription with an older cursor is told that it has expired.',
  }),
  keepLogs: kept({
    name: 'REPRISE_KEEP_LOGS',
    default: '90d',
    meaning: 'The same for the output of kernels, counted in chunks of up to 64 KiB.',
  }),
  keepAudit: kept({ name: 'REPRISE_KEEP_AUDIT', default: '400d', meaning: 'The same for the audit log.' }),
  keepAgentHistory: kept({
    name: 'REPRISE_KEEP_AGENT_HISTORY',
    default: '90d',
    meaning: 'The same for the history of agents.',
  }),
  checkpointKeep: keptFor({
    name: 'REPRISE_CHECKPOINT_KEEP',
    default: '1d',
    meaning:
      'How long the checkpoint of a chain is kept that has succeeded: `1d` (h, d, w, y) or `forever`. It goes with its chain at the latest.',
  }),
  checkpointKeepFailed: keptFor({
    name: 'REPRISE_CHECKPOINT_KEEP_FAILED',
    default: '30d',
    meaning: 'The same of a chain that has failed for good or was cancelled, so that a resubmission can go on with it.',
  }),
}

/** Without a bound by number. */
function keptFor(documentation: Omit<Documentation, 'unit'>): Variable<Retention> {
  const age = retention().refine(({ count }) => count === null, 'must be like `90d` or `forever`')
  return { ...documentation, unit: null, schema: age.default(() => parseRetention(documentation.default)!) }
}

function kept(documentation: Omit<Documentation, 'unit'>): Variable<Retention> {
  return { ...documentation, unit: null, schema: retention().default(() => parseRetention(documentation.default)!) }
}
