import { once } from 'node:events'
import { relative, resolve } from 'node:path'
import { ConfigurationError, loadConfig, type Config } from './config.ts'
import { createLogger, type Logger } from './observability/log.ts'
import { migrateOnly, startRuntime, type Runtime } from './runtime.ts'

const EXIT_OK = 0
const EXIT_FAULT = 1
/** As sysexits.h has it. */
const EXIT_CONFIGURATION = 78
/** A clean stop that takes longer than this is ended; what it left undone is done at the next start. */
const STOP_WITHIN_MS = 30_000

/** Runs a server until it is told to stop; answers with the exit status. */
export async function serve(environment: NodeJS.ProcessEnv): Promise<number> {
  return withConfig(environment, async (config, log) => {
    const stopping = stopSignal()
    const runtime = await startRuntime(config, log)
    announce(config, runtime)
    const signal = await stopping
    log.info(`${signal}: stopping`)
    const overdue = setTimeout(() => {
      log.error(`not stopped within ${STOP_WITHIN_MS / 1000} s: giving up`)
      process.exit(EXIT_FAULT)
    }, STOP_WITHIN_MS)
    await runtime[Symbol.asyncDispose]()
    clearTimeout(overdue)
    log.info('stopped; kernels that run go on, and the next start finds them')
    return EXIT_OK
  })
}

/** Applies migrations; answers with the exit status. */
export async function migrateDatabase(environment: NodeJS.ProcessEnv): Promise<number> {
  return withConfig(environment, async (config, log) => {
    const applied = await migrateOnly(config, log)
    console.log(applied.length === 0 ? 'up to date' : applied.map((name) => `applied ${name}`).join('\n'))
    return EXIT_OK
  })
}

async function withConfig(
  environment: NodeJS.ProcessEnv,
  work: (config: Config, log: Logger) => Promise<number>,
): Promise<number> {
  let log: Logger | undefined
  try {
    const { config, warnings } = loadConfig(environment)
    log = createLogger({ level: config.logLevel, format: config.logFormat })
    for (const warning of warnings) log.warn(warning)
    return await work(config, log)
  } catch (error) {
    if (error instanceof ConfigurationError) {
      console.error(error.message)
      return EXIT_CONFIGURATION
    }
    if (log) log.fatal({ err: error }, error instanceof Error ? error.message : String(error))
    else console.error(error)
    return EXIT_FAULT
  }
}

/** The last line says that everything is ready; scripts wait for it. */
function announce(config: Config, { url, adminToken }: Runtime): void {
  const path = relative(process.cwd(), resolve(adminToken.path))
  if (adminToken.created) console.log(`admin token, shown once: ${adminToken.token}`)
  console.log(`admin token kept in ${path}`)
  if (url === null) {
    console.log(`reprise ready (roles ${config.roles.join(', ')})`)
    return
  }
  console.log(`GraphQL, GraphiQL and subscriptions at ${url}/graphql`)
  console.log(`reprise ready ${url}`)
}

async function stopSignal(): Promise<string> {
  const ending = new AbortController()
  try {
    return await Promise.race(
      ['SIGTERM', 'SIGINT'].map(async (name) => {
        await once(process, name, { signal: ending.signal })
        return name
      }),
    )
  } finally {
    // A second signal ends it the hard way.
    ending.abort()
  }
}
