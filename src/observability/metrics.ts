import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { processFaults } from './process-events.ts'

/**
 * Counters of what this server process has done since its start, and gauges of the database's content, set at each
 * scrape. Counters can be summed over servers. The gauges `bai_sessions_active`, `bai_session_retry_*`,
 * `bai_webhook_*`, `bai_agents`, `bai_deployments`, `bai_routes` and `bai_deployment_replicas_missing` have the same
 * value on every server.
 */
export type Metrics = ReturnType<typeof createMetrics>

/** Buckets for passes of background services: from a single statement to a full batch. */
const RUN_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const LAG_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300]
/** Buckets for webhook attempts and for health checks of routes, up to the timeout of a webhook attempt. */
const ATTEMPT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20]
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

/** Sums of other gauges, whose names end like those of counters. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
}

/** Each call creates a registry, so that two servers in one process are counted separately. */
export function createMetrics(options: { process?: boolean } = {}) {
  const registry = new Registry()
  const registers = [registry]
  if (options.process) collectProcessMetrics(registry)
  return {
    registry,
    retries: retryMetrics(registers),
    slotSeconds: slotSecondsMetrics(registers),
    runs: new Histogram({
      name: 'bai_scheduler_run_seconds',
      help: 'Passes of background services, by outcome.',
      labelNames: ['service', 'outcome'],
      buckets: RUN_SECONDS,
      registers,
    }),
    done: new Counter({
      name: 'bai_scheduler_done_total',
      help: 'Things done by background services: sessions moved, decisions made, retries handled.',
      labelNames: ['service'],
      registers,
    }),
    requests: new Histogram({
      name: 'bai_http_request_seconds',
      help: 'HTTP requests, without those that stream.',
      labelNames: ['route', 'method', 'status'],
      buckets: REQUEST_SECONDS,
      registers,
    }),
    streams: new Counter({
      name: 'bai_http_streams_total',
      help: 'HTTP requests that were answered by a stream of events.',
      labelNames: ['route'],
      registers,
    }),
    webhooks: webhookMetrics(registers),
    routes: routeMetrics(registers),
    used: usageMetrics(registers),
    checkpointsMissing: new Counter({
      name: 'bai_checkpoint_missing_total',
      help: 'Sessions that started without the checkpoint that an earlier attempt had left.',
      registers,
    }),
    gauges: gaugeMetrics(registers),
    faults: faultMetrics(registers),
  }
}

function retryMetrics(registers: Registry[]) {
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  const byCause = (name: string, help: string) => new Counter({ name, help, labelNames: ['cause'], registers })
  return {
    scheduled: byCause('bai_session_retry_scheduled_total', 'Failures for which a retry was scheduled.'),
    exhausted: byCause('bai_session_retry_exhausted_total', 'Failures after the last retry.'),
    succeeded: counter('bai_session_retry_succeeded_total', 'Retries that succeeded.'),
    dispatched: counter('bai_session_retry_dispatched_total', 'Child sessions that were created.'),
    refused: counter('bai_session_retry_refused_total', 'Retries whose child was refused for good.'),
    cancelled: counter('bai_session_retry_cancelled_total', 'Retries that a person cancelled.'),
    resubmitted: counter('bai_session_resubmitted_total', 'Sessions that were resubmitted.'),
    resubmissionRefused: new Counter({
      name: 'bai_session_resubmission_refused_total',
      help: 'Sessions whose resubmission was refused, by error code.',
      labelNames: ['code'],
      registers,
    }),
    held: new Counter({
      name: 'bai_session_retry_held_total',
      help: 'Due retries that were held, counted once per reason.',
      labelNames: ['reason'],
      registers,
    }),
    lag: new Histogram({
      name: 'bai_session_retry_dispatch_lag_seconds',
      help: 'From the due time of a retry to the creation of its child, without retries that were held.',
      buckets: LAG_SECONDS,
      registers,
    }),
  }
}

function slotSecondsMetrics(registers: Registry[]) {
  return {
    lost: new Counter({
      name: 'bai_session_slot_seconds_lost_total',
      help: 'Running time of failed attempts times what they requested, by slot and cause; memory in byte seconds.',
      labelNames: ['slot', 'cause'],
      registers,
    }),
    saved: new Counter({
      name: 'bai_session_slot_seconds_saved_total',
      help: 'Running time of retries that succeeded times what they requested, by slot; memory in byte seconds.',
      labelNames: ['slot'],
      registers,
    }),
  }
}

function webhookMetrics(registers: Registry[]) {
  return {
    attempts: new Counter({
      name: 'bai_webhook_attempts_total',
      help: 'Webhook attempts, by outcome: delivered, other status, refused address, timeout, failed.',
      labelNames: ['outcome'],
      registers,
    }),
    seconds: new Histogram({
      name: 'bai_webhook_attempt_seconds',
      help: 'Duration of webhook attempts, from the name look-up to the end of the response.',
      buckets: ATTEMPT_SECONDS,
      registers,
    }),
    disabled: new Counter({
      name: 'bai_webhook_disabled_total',
      help: 'Webhooks that were disabled because they kept failing or answered that they are gone.',
      registers,
    }),
  }
}

function usageMetrics(registers: Registry[]) {
  const counter = (name: string, help: string) => new Counter({ name, help, labelNames: ['outcome'], registers })
  return {
    cpu: counter(
      'bai_kernel_cpu_seconds_total',
      'CPU time of kernels that ended, by outcome: succeeded, failed, stopped.',
    ),
    wall: counter(
      'bai_kernel_run_seconds_total',
      'How long kernels that ended ran, by outcome: succeeded, failed, stopped.',
    ),
  }
}

function routeMetrics(registers: Registry[]) {
  return {
    checks: new Histogram({
      name: 'bai_route_check_seconds',
      help: 'Duration of health checks of routes, by outcome: well or fault.',
      labelNames: ['outcome'],
      buckets: ATTEMPT_SECONDS,
      registers,
    }),
  }
}

function faultMetrics(registers: Registry[]) {
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  return {
    diskFull: counter(
      'bai_disk_full_total',
      'Writes that failed because a disk of the server or of its database is full.',
      () => processFaults.diskFull,
    ),
    uncaught: counter(
      'bai_uncaught_faults_total',
      'Uncaught errors; the server keeps running. Each one is a bug.',
      () => processFaults.uncaught,
    ),
  }
}

function gaugeMetrics(registers: Registry[]) {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers })
  return {
    up: gauge('bai_database_up', 'Whether the database answered the queries for the gauges in time: 1 or 0.'),
    sessions: gauge('bai_sessions_active', 'Sessions that have not ended.', ['status']),
    agents: gauge('bai_agents', 'Agents.', ['status']),
    refusing: gauge('bai_agents_refusing', 'Agents that take no new kernels for a reason of their own.'),
    queue: gauge('bai_session_retry_queue', 'Waiting retries, by what holds them.', ['hold']),
    overdue: gauge('bai_session_retry_overdue_seconds', 'How long the oldest retry in the queue has been due.'),
    decisions: gauge('bai_session_retry_decisions', 'Decisions in the database; an estimate where there are many.', [
      'phase',
    ]),
    webhookQueue: gauge('bai_webhook_queue', 'Deliveries to enabled webhooks that are waiting or in flight.'),
    webhookOverdue: gauge('bai_webhook_overdue_seconds', 'How long the oldest of these deliveries has been due.'),
    resubmissions: gauge(
      'bai_session_resubmission_pending',
      'Sessions that running resubmissions have not processed yet.',
    ),
    deployments: gauge('bai_deployments', 'Deployments that are not destroyed.', ['status']),
    routes: gauge('bai_routes', 'Routes that have not ended.', ['status']),
    missing: gauge('bai_deployment_replicas_missing', 'Wanted replicas that are not healthy, over all deployments.'),
    subscriptions: gauge('bai_subscriptions', 'Subscriptions to events that this server serves.'),
  }
}
