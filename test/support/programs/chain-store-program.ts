import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { chainSize } from '../../../src/agent/executors/chain/chain-size.ts'
import { createProcessExecutor } from '../../../src/agent/executors/process/process-executor.ts'
import { makeDeepTree } from '../deep-tree.ts'
import { eventually } from '../eventually.ts'

/**
 * Measures and drops a chain's directory with locked parts, as whoever runs this, and clears away what kernels of an
 * earlier instance have left, however deep and locked. Prints how many bytes and files were seen.
 */
const [agentDir, chainId] = process.argv.slice(2) as [string, string]
// Background work does not keep the process alive.
const busy = setInterval(() => undefined, 1_000)
const LEVELS = 6_000
const GUARD_MS = 600_000
const log = pino({ enabled: false })
const outside = join(agentDir, 'outside')
mkdirSync(join(outside, 'directory'), { recursive: true })
writeFileSync(join(outside, 'file'), '')
const kernels = join(agentDir, 'kernels')
mkdirSync(join(kernels, 'left'), { recursive: true })
makeDeepTree(join(kernels, 'left', 'work'), LEVELS, outside)
chmodSync(join(kernels, 'left'), 0)
makeDeepTree(join(kernels, '.dropped-left'), LEVELS, outside)
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
await executor.recover()
await eventually(() => readdirSync(kernels).length === 0, { withinMs: GUARD_MS })
await eventually(() => readdirSync(join(agentDir, 'chains')).every((name) => name === '.reprise-store'))
process.stdout.write(`${bytes} ${files}\n`)
await executor.close()
clearInterval(busy)
