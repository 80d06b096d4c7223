import { once } from 'node:events'
import { loadConfig } from '../../../src/config.ts'
import type { Lease } from '../../../src/domain/agent/lease.ts'
import { createLogger } from '../../../src/observability/log.ts'
import { startRuntime } from '../../../src/runtime.ts'

/** `short-lease-program.ts <lease as JSON>`: a server as `reprise serve` starts it, which bears silence less long. */
const { config } = loadConfig(process.env)
const log = await createLogger({ level: config.logLevel, format: config.logFormat })
const runtime = await startRuntime(config, log, { lease: JSON.parse(process.argv[2]!) as Lease })
console.log(`reprise ready ${runtime.url}`)
await once(process, 'SIGTERM')
await runtime[Symbol.asyncDispose]()
