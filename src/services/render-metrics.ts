import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Database } from '../store/database.ts'
import { type GaugeFigure, readGauges } from '../store/sql/server.sql.ts'
import { within } from '../waiting/wait.ts'

/** Several scrapes within this time cost one database read. */
const GAUGES_TRUST_MS = 5_000
/** Scrapers wait for 10 s: the page has to be sent even if the database does not answer. */
const GAUGES_WITHIN_MS = 4_000

/**
 * Renders the page for Prometheus. Without the database it has only this server's own counters, and reports that the
 * gauges are missing.
 */
export function createMetricsPage(options: {
  db: Database
  metrics: Metrics
  log: Logger
  subscriptions: () => number
}): () => Promise<string> {
  const { db, metrics, log, subscriptions } = options
  const { registry, gauges } = metrics
  let readAt = -Infinity
  let reading: Promise<void> | undefined

  async function refresh(): Promise<void> {
    let figures: GaugeFigure[] = []
    try {
      const read = await within(GAUGES_WITHIN_MS, readGauges(db))
      if (!read) throw new Error(`no answer within ${GAUGES_WITHIN_MS} ms`)
      figures = read
      gauges.up.set(1)
      readAt = performance.now()
    } catch (error) {
      log.warn({ err: error }, 'the gauges could not be read from the database')
      gauges.up.set(0)
    }
    const { up: _up, subscriptions: _subscriptions, ...fromDatabase } = gauges
    for (const gauge of Object.values(fromDatabase)) gauge.reset()
    for (const { gauge, label, value } of figures) gauges[gauge].set(labelsOf(gauge, label), value)
  }

  return async () => {
    if (performance.now() - readAt > GAUGES_TRUST_MS) await (reading ??= refresh().finally(() => (reading = undefined)))
    gauges.subscriptions.set(subscriptions())
    return registry.metrics()
  }
}

function labelsOf(gauge: GaugeFigure['gauge'], label: string | null): Record<string, string> {
  if (label === null) return {}
  if (gauge === 'queue') return { hold: label }
  return gauge === 'decisions' ? { phase: label } : { status: label }
}
