import { builder } from './builder.ts'
import './modules/access/access.mutations.ts'
import './modules/access/access.queries.ts'
import './modules/agent/agent.operations.ts'
import './modules/chain/chain-attempts.types.ts'
import './modules/chain/chain-timeline.types.ts'
import './modules/chain/chain.operations.ts'
import './modules/deployment/deployment.operations.ts'
import './modules/event.operations.ts'
import './modules/insight/backtest.operations.ts'
import './modules/insight/comparison.operations.ts'
import './modules/insight/figures.operations.ts'
import './modules/insight/insight.operations.ts'
import './modules/node.operations.ts'
import './modules/quota.operations.ts'
import './modules/resource-group.operations.ts'
import './modules/resubmission/former-names.ts'
import './modules/resubmission/resubmission.operations.ts'
import './modules/retry/retry-preview.operations.ts'
import './modules/retry/retry-settings.operations.ts'
import './modules/retry/retry.operations.ts'
import './modules/schedule/schedule.operations.ts'
import './modules/session/outputs.operations.ts'
import './modules/session/queue.operations.ts'
import './modules/session/session-group.operations.ts'
import './modules/session/session.operations.ts'
import './modules/session/statistics.operations.ts'
import './modules/webhook/webhook.operations.ts'

/**
 * The schema of the API. It is not sorted, because sorting builds the schema a second time at every start;
 * `schema.graphql` is sorted.
 */
export const schema = builder.toSchema({ sortSchema: false })
