import { readFileSync, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { holdAgent, SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { kernelSpec, reaches } from './executor-subject.ts'

const BINARY_BYTES = 300_000
const LINE_BYTES = 100_000
const LINES = 20_000
/** Beyond what both engines keep. Of short ones Docker takes 100,000 a second. */
const FLOOD_LINES = 18_000
const FLOOD_LINE_BYTES = 8_000

/** In blocks, so that whoever looks meanwhile finds some of it. */
const SCRIPT = `
head -c ${BINARY_BYTES} /bin/busybox
block=0
while [ $block -lt 40 ]; do
  seq $((block * ${LINES / 40} + 1)) $(((block + 1) * ${LINES / 40})) >&2
  seq $((block * ${LINES / 40} + 1)) $(((block + 1) * ${LINES / 40}))
  block=$((block + 1))
  sleep 0.05
done
head -c ${LINE_BYTES} /dev/zero | tr '\\0' x`

describeEngines('output of containers of %s', (name) => {
  const missing = whyNoEngine(name)
  let engine: ContainerEngine
  let fixture: ContainerFixture
  let executor: Executor

  beforeAll(async () => {
    if (missing !== null) return
    engine = await sharedEngine(name)
    fixture = await createContainerFixture(engine, { pull: 'never' })
    executor = fixture.create({ changed: () => undefined })
  })
  afterAll(async () => {
    for (const { kernelId, assignment } of executor?.observe() ?? []) executor.forget(kernelId, assignment)
    await eventually(() => (executor?.observe() ?? []).length === 0, { withinMs: SLOWLY_MS })
    await executor?.close()
    await fixture?.dispose()
  })

  const file = (kernelId: string, stream: string) => join(fixture.kernel(kernelId), stream)

  test.skipIf(missing !== null)(
    'bytes, a long line and many lines are exact, stream by stream, when the agent is killed in the midst of it',
    async () => {
      const spec = kernelSpec({ command: ['sh', '-c', SCRIPT] })
      const agent = holdAgent(fixture, engine.socket, [spec])
      agent.start()
      const bytes = () => statSync(file(spec.kernelId, 'stderr'), { throwIfNoEntry: false })?.size ?? 0
      const whole = lines(LINES)
      await eventually(() => bytes() > 0, { withinMs: SLOWLY_MS })
      await agent.kill()
      expect(bytes()).toBeLessThan(whole.length)
      await executor.recover()
      expect(await reaches(executor, spec.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 0 })
      expect(readFileSync(file(spec.kernelId, 'stderr')).equals(whole)).toBe(true)
      const binary = readFileSync('/bin/busybox').subarray(0, BINARY_BYTES)
      const printed = Buffer.concat([binary, whole, Buffer.alloc(LINE_BYTES, 'x')])
      expect(readFileSync(file(spec.kernelId, 'stdout')).equals(printed)).toBe(true)
      executor.forget(spec.kernelId, 1)
    },
  )

  test.skipIf(missing !== null)('whatever a program writes, the engine keeps a bounded file of it', async () => {
    const spec = kernelSpec({
      command: [
        'sh',
        '-c',
        `awk 'BEGIN { for (i = 1; i <= ${FLOOD_LINES}; i++) printf "%0${FLOOD_LINE_BYTES - 1}d\\n", i }'`,
      ],
    })
    executor.start(spec, 1)
    await reaches(executor, spec.kernelId, 'RUNNING', SLOWLY_MS)
    expect(await reaches(executor, spec.kernelId, 'EXITED', SLOWLY_MS * 2)).toMatchObject({ exitCode: 0 })
    const { Id } = (await fixture.container(spec.kernelId))!
    const largest = await largestFile(engine.disk, Id)
    expect(largest).toBeGreaterThan(1024 * 1024)
    expect(largest).toBeLessThan(80 * 1024 * 1024)
    executor.forget(spec.kernelId, 1)
  })
})

function lines(count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, at) => `${at + 1}\n`).join(''))
}

/** Of those of a container: its id is in their paths. */
async function largestFile(directory: string, container: string): Promise<number> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true })
  const sizes = found
    .filter((each) => each.isFile() && join(each.parentPath, each.name).includes(container))
    .map((each) =>
      stat(join(each.parentPath, each.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    )
  return Math.max(0, ...(await Promise.all(sizes)))
}
