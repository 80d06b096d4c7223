import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { pushBase, whyNoRegistry } from '../../support/containers/private-registry.ts'
import { copyTag } from '../../support/containers/registry-image.ts'
import { sharedEngine, sharedRegistry } from '../../support/containers/shared-engine.ts'
import { type Held, slowDown, type SlowEngine } from '../../support/containers/slow-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { type HeldAgent, holdAgent, SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'

interface CrashPoint {
  /** The request about this kernel during which the agent is killed; it names the container by name or id. */
  request?: { ofImage: RegExp } | { ofContainer: RegExp }
  held?: Exclude<Held, null>
  /** The state of its directory and container at that moment. */
  leaves: { script: boolean; status: RegExp | null; container: string | null }
  /** It waits for a word before it ends, and gets that when the agent is gone. */
  waits?: true
  /** The file of which a kill in the midst of its writing leaves so much. */
  tears?: { name: string; bytes: number }
  /** The orders that the agent has before; the new one gets them, too. */
  order?: 'stop' | 'forget'
}

const CREATE = { ofContainer: /^POST \/containers\/create\?/ }
const START = { ofContainer: /^POST \S+\/start$/ }
const REMOVE = { ofContainer: /^DELETE / }
const NOTHING = { script: false, status: null, container: null }
const ENDED = /^claimed \w+\nbegan .*\nclocks .*\nexit 5\n$/

/** In the order of a kernel's life: steps 1 to 8 of the header of launchKernel, each before and behind what it asks for. */
const POINTS: Record<string, CrashPoint> = {
  'its directory is there': { request: { ofImage: /^GET \/images\// }, held: 'request', leaves: NOTHING },
  'its image is asked for': { request: { ofImage: /^POST \/images\/create/ }, held: 'request', leaves: NOTHING },
  'its image is there': { request: { ofImage: /^POST \/images\/create/ }, held: 'answer', leaves: NOTHING },
  'its start is written down': {
    request: CREATE,
    held: 'request',
    leaves: { script: true, status: null, container: null },
  },
  'its start is half written down': {
    request: CREATE,
    held: 'request',
    tears: { name: 'run.1', bytes: 100 },
    leaves: { script: true, status: null, container: null },
  },
  'its claim is not written down, and its file is there': {
    request: CREATE,
    held: 'answer',
    tears: { name: 'status', bytes: 0 },
    leaves: { script: true, status: null, container: 'created' },
  },
  'its container is there': {
    request: CREATE,
    held: 'answer',
    leaves: { script: true, status: null, container: 'created' },
  },
  'its container is there, and it was stopped meanwhile': {
    request: CREATE,
    held: 'answer',
    order: 'stop',
    leaves: { script: true, status: /^never\n$/, container: 'created' },
  },
  'its container is claimed': {
    request: START,
    held: 'request',
    leaves: { script: true, status: /^claimed \w+\n$/, container: 'created' },
  },
  'its container has been started': {
    request: START,
    held: 'answer',
    leaves: { script: true, status: /^claimed \w+\n$/, container: 'exited' },
  },
  'its container runs, and it does not know': {
    request: START,
    held: 'answer',
    waits: true,
    leaves: { script: true, status: /^claimed \w+\n$/, container: 'running' },
  },
  'it knows that its container runs': {
    request: { ofContainer: /^GET \/containers\/\w+\/json/ },
    held: 'request',
    waits: true,
    leaves: { script: true, status: /^claimed \w+\n$/, container: 'running' },
  },
  'it runs': {
    waits: true,
    leaves: { script: true, status: /^claimed \w+\nbegan .*\nclocks \d+(?:\.\d+)? \d+\n$/, container: 'running' },
  },
  'its output is taken': {
    request: { ofContainer: /^GET \S+\/logs\?\S*follow=0/ },
    held: 'request',
    leaves: { script: true, status: /^claimed \w+\nbegan .*\nclocks \d+(?:\.\d+)? \d+\n$/, container: 'exited' },
  },
  'its end is written down': { leaves: { script: true, status: ENDED, container: 'exited' } },
  'its container is to be removed': {
    request: REMOVE,
    held: 'request',
    order: 'forget',
    leaves: { script: true, status: ENDED, container: 'exited' },
  },
  'its container is removed': {
    request: REMOVE,
    held: 'answer',
    order: 'forget',
    leaves: { script: true, status: ENDED, container: null },
  },
}
const ENTRIES = Object.entries(POINTS)

/** One agent has them all, each at a point of its own, when it is killed; then the next takes over. */
describeEngines('an agent with %s that is killed when', (name) => {
  const missing = whyNoEngine(name) ?? whyNoRegistry()
  let engine: ContainerEngine
  let slow: SlowEngine
  let fixture: ContainerFixture
  let holder: HeldAgent
  let next: Executor | undefined
  const specs = new Map<string, KernelSpec>()

  beforeAll(async () => {
    if (missing !== null) return
    const registry = await sharedRegistry()
    engine = await sharedEngine(name)
    fixture = await createContainerFixture(engine)
    const repository = `crash-points/${name}`
    await pushBase(engine, registry, `${repository}:1`)
    for (const [at, [point, { waits, request }]] of ENTRIES.entries()) {
      const wait = waits === undefined ? '' : 'while [ ! -e gate ]; do sleep 0.1; done; '
      const command = ['sh', '-c', `echo begun >>/chain/witness; echo out; ${wait}echo end; exit 5`]
      const pulls = request !== undefined && 'ofImage' in request
      // Each under a name of its own, so that none finds what another has pulled.
      const own = pulls ? `${registry}/${repository}:${at}` : null
      if (own !== null) await copyTag(registry, repository, '1', String(at))
      specs.set(point, kernelSpec({ command, image: own }))
    }
    slow = await slowDown(engine.socket, heldOf)
    holder = holdAgent(fixture, slow.socket, [...specs.values()], { parallel: ENTRIES.length })
    holder.start()
    await Promise.all(ENTRIES.map(([point]) => comesTo(point)))
    await holder.kill()
  })

  afterAll(async () => {
    await holder?.kill()
    await next?.close()
    await slow?.[Symbol.asyncDispose]()
    await fixture?.dispose()
  })

  const file = (point: string, ...path: string[]) => join(fixture.kernel(specs.get(point)!.kernelId), ...path)
  const statusOf = (point: string) =>
    existsSync(file(point, 'status')) ? readFileSync(file(point, 'status'), 'utf8') : null

  /** The kernel of a request: by its image, its container's name, or that container's id. */
  function pointOf(request: string): string | undefined {
    return ENTRIES.map(([point]) => point).find((point) => {
      const { kernelId, image } = specs.get(point)!
      const id = /^claimed (\w+)/.exec(statusOf(point) ?? '')?.[1]
      const names = [kernelId, id, ...(image === null ? [] : [image, encodeURIComponent(image)])]
      return names.some((each) => each !== undefined && request.includes(each))
    })
  }

  function heldOf(request: string): Held {
    const point = pointOf(request)
    if (point === undefined) return null
    const { request: awaited, held = null } = POINTS[point]!
    if (awaited === undefined) return null
    return ('ofImage' in awaited ? awaited.ofImage : awaited.ofContainer).test(request) ? held : null
  }

  /** The agent is there, with this kernel. */
  async function comesTo(point: string): Promise<void> {
    const { request, held, order, waits } = POINTS[point]!
    const { kernelId } = specs.get(point)!
    if (request === undefined) return void (await holder.reaches(kernelId, waits === undefined ? 'EXITED' : 'RUNNING'))
    if (order === 'forget') {
      await holder.reaches(kernelId, 'EXITED')
      holder.forget(kernelId)
    }
    const isThere = () => (held === 'answer' ? slow.answered() : slow.asked()).some((each) => pointOf(each) === point)
    await eventually(isThere, { withinMs: SLOWLY_MS, what: `the agent is where ${point}` })
    if (order === 'stop') {
      holder.stop(kernelId, 0)
      await holder.reaches(kernelId, 'EXITED')
    }
  }

  test.skipIf(missing !== null)('… each kernel is where it is to be', async () => {
    for (const [point, { leaves }] of ENTRIES) {
      const files = readdirSync(file(point))
      const found = {
        script: files.includes('run.1'),
        status: statusOf(point),
        container: await eventually(
          async () => {
            const state = (await fixture.container(specs.get(point)!.kernelId))?.State ?? 'none'
            return state === (leaves.container ?? 'none') && state
          },
          { what: `the container of: ${point}` },
        ),
      }
      expect({ point, ...found }).toEqual({
        point,
        script: leaves.script,
        status: leaves.status === null ? null : expect.stringMatching(leaves.status),
        container: leaves.container ?? 'none',
      })
    }
    for (const [point, { waits, tears }] of ENTRIES) {
      if (waits) writeFileSync(file(point, 'work', 'gate'), '')
      if (tears === undefined) continue
      const torn = file(point, tears.name)
      writeFileSync(torn, existsSync(torn) ? readFileSync(torn).subarray(0, tears.bytes) : '')
    }
    next = fixture.create({ changed: () => undefined })
    await next.recover()
    // The server repeats the order.
    for (const [point, { order }] of ENTRIES) {
      const spec = specs.get(point)!
      if (order === undefined) next.start(spec, 1)
      if (order === 'stop') next.stop(spec.kernelId, 1, 0)
    }
  })

  test.skipIf(missing !== null).each(ENTRIES)('%s', async (point, { order }) => {
    const { kernelId, chainId } = specs.get(point)!
    const ended = await reaches(next!, kernelId, 'EXITED', SLOWLY_MS)
    const witness = join(fixture.agentDir, 'chains', chainId, 'witness')
    if (order === 'stop') {
      expect(ended).toMatchObject({ startedAt: null, exitCode: null, stopped: true })
      expect(existsSync(witness)).toBe(false)
    } else {
      expect(ended).toMatchObject({ exitCode: 5, error: null, stopped: false })
      expect(readFileSync(witness, 'utf8')).toBe('begun\n')
      expect((await readAll(next!, kernelId, 'STDOUT')).text).toBe('out\nend\n')
    }
    next!.forget(kernelId, 1)
    await eventually(() => find(next!, kernelId) === undefined, { withinMs: SLOWLY_MS })
    await eventually(async () => (await fixture.container(kernelId)) === undefined, { withinMs: SLOWLY_MS })
    await eventually(() => !existsSync(fixture.kernel(kernelId)), { withinMs: SLOWLY_MS })
  })
})
