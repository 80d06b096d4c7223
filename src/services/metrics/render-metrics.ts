import type { Logger } from '../../observability/log.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Database } from '../../store/database.ts'
import { readStock, type StockFigure } from '../../store/sql/read-stock.sql.ts'

/** Several scrapes within this time cost one database read. */
const STOCK_TRUST_MS = 5_000
/** Those who scrape wait for 10 s: the page has to come even if the database is silent. */
const STOCK_WITHIN_MS = 4_000

/**
 * The page that Prometheus scrapes. Without the database it has only this server's own counters, and says that the
 * gauges are missing.
 */
export function createMetricsPage(options: {
  db: Database
  metrics: Metrics
  log: Logger
  subscriptions: () => number
}): () => Promise<string> {
  const { db, metrics, log, subscriptions } = options
  const { registry, stock } = metrics
  let looked = -Infinity
  let looking: Promise<void> | undefined

  async function figuresInTime(): Promise<StockFigure[]> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Error(`no answer within ${STOCK_WITHIN_MS} ms`)), STOCK_WITHIN_MS)
    return Promise.race([readStock(db), late]).finally(() => clearTimeout(timer))
  }

  async function look(): Promise<void> {
    let figures: StockFigure[] = []
    try {
      figures = await figuresInTime()
      stock.up.set(1)
      looked = performance.now()
    } catch (error) {
      log.warn({ err: error }, 'the database did not tell the gauges')
      stock.up.set(0)
    }
    const { up: _up, subscriptions: _subscriptions, ...told } = stock
    for (const gauge of Object.values(told)) gauge.reset()
    for (const { gauge, label, value } of figures) stock[gauge].set(labelsOf(gauge, label), value)
  }

  return async () => {
    if (performance.now() - looked > STOCK_TRUST_MS) await (looking ??= look().finally(() => (looking = undefined)))
    stock.subscriptions.set(subscriptions())
    return registry.metrics()
  }
}

function labelsOf(gauge: StockFigure['gauge'], label: string | null): Record<string, string> {
  if (label === null) return {}
  if (gauge === 'queue') return { hold: label }
  return gauge === 'decisions' ? { phase: label } : { status: label }
}
