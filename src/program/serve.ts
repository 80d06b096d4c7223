import { relative, resolve } from 'node:path'
import { EXIT_OK, stopInTime, stopSignal, withConfig } from './command.ts'
import type { Config } from './config.ts'
import type { Warning } from '../domain/warning.ts'
import type { Logger } from '../observability/log.ts'
import { migrateOnly, startRuntime, type Runtime } from './runtime.ts'

type RuntimeOptions = NonNullable<Parameters<typeof startRuntime>[2]>

export interface ServeOptions {
  /** Revokes the admin token that the servers of this database share, and makes a new one. */
  newAdminToken?: boolean
  /** Only for tests, which cannot wait as long as LEASE. */
  lease?: RuntimeOptions['lease']
}

/** Runs a server until a signal to stop; returns the exit status. */
export async function serve(environment: NodeJS.ProcessEnv, options: ServeOptions = {}): Promise<number> {
  return withConfig(environment, async (config, log, found) => {
    const warnings = found.map((text) => ({ kind: 'configuration' as const, text }))
    const stopped = new AbortController()
    const stopping = stopSignal()
    void stopping.then(() => stopped.abort())
    const runtime = await startOrStop(config, log, { ...options, warnings, signal: stopped.signal })
    if (!runtime) return EXIT_OK
    announce(config, runtime)
    const signal = await stopping
    log.info(`${signal}: stopping`)
    await stopInTime(() => runtime[Symbol.asyncDispose](), log, config.drainSeconds * 1000)
    log.info('stopped; kernels that run go on, and the next start finds them')
    return EXIT_OK
  })
}

/** Returns null if a signal to stop came before the server was ready. */
async function startOrStop(
  config: Config,
  log: Logger,
  options: ServeOptions & { warnings: readonly Warning[]; signal: AbortSignal },
): Promise<Runtime | null> {
  const { signal } = options
  try {
    return await startRuntime(config, log, options)
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
    log.info('stopped before it was ready')
    return null
  }
}

/** Applies migrations; returns the exit status. */
export async function migrateDatabase(environment: NodeJS.ProcessEnv): Promise<number> {
  return withConfig(environment, async (config, log) => {
    const applied = await migrateOnly(config, log)
    console.log(applied.length === 0 ? 'up to date' : applied.map((name) => `applied ${name}`).join('\n'))
    return EXIT_OK
  })
}

/** Prints where the server is. The last line means that everything is ready; scripts wait for it. */
function announce(config: Config, { url, adminToken }: Runtime): void {
  const path = relative(process.cwd(), resolve(adminToken.path))
  // Elsewhere it would stay in a journal or a log file.
  const isSeen = process.stdout.isTTY && adminToken.created
  if (isSeen) console.log(`admin token, shown once: ${adminToken.token}`)
  if (adminToken.token !== null) console.log(`admin token kept in ${path}`)
  else console.log(`admin token: this database has one, kept by the server that made it; this server has no ${path}`)
  if (url === null) {
    console.log(`reprise ready (roles ${config.roles.join(', ')})`)
    return
  }
  console.log(`GraphQL, GraphiQL and subscriptions at ${url}/graphql`)
  console.log(`reprise ready ${url}`)
}
