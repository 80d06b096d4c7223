import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { chainSize } from '../../../src/agent/executors/process/chain/chain-size.ts'
import { createProcessExecutor } from '../../../src/agent/executors/process/process-executor.ts'
import { eventually } from '../eventually.ts'

/** Measures and drops a chain's directory with locked parts, as whoever runs this. Prints how many bytes and files were seen. */
const [agentDir, chainId] = process.argv.slice(2) as [string, string]
// What is done in the background keeps no process.
const busy = setInterval(() => undefined, 1_000)
const log = pino({ enabled: false })
const executor = createProcessExecutor({ agentDir, log }, { changed: () => undefined })
const chain = join(agentDir, 'chains', chainId)
mkdirSync(join(chain, 'locked/inner'), { recursive: true })
for (const name of ['a', 'locked/b', 'locked/inner/c']) writeFileSync(join(chain, name), Buffer.alloc(1_000_000, 'x'))
const lock = () => execFileSync('chmod', ['0', join(chain, 'locked/inner'), join(chain, 'locked'), chain])
lock()
const bytes = await chainSize(chain, 'bytes')
lock()
const files = await chainSize(chain, 'files')
lock()
if (!executor.chains!.drop(chainId)) throw new Error('not dropped')
await eventually(() => readdirSync(join(agentDir, 'chains')).every((name) => name === '.reprise-store'))
process.stdout.write(`${bytes} ${files}\n`)
clearInterval(busy)
