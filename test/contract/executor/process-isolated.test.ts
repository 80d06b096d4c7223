import { execFileSync, spawnSync } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { skipReason } from '../../support/distribution.ts'
import { eventually } from '../../support/eventually.ts'
import { whyNoMounts } from '../../support/run/mounts.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { execConformance, request } from './exec-conformance.ts'
import { executorConformance } from './executor-conformance.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'
import type { Arrangement } from './isolation-of.ts'
import { expectNothingPlantedRuns } from './planted-programs.ts'
import { createProcessFixture, type ProcessFixture } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

describe('conformance', () => {
  for (const { arrangement, fault } of arrangements) {
    executorConformance(`process, isolated by ${arrangement}`, () => createProcessFixture({ arrangement }), fault)
  }
})

describe('commands in a kernel', () => {
  const SERVER =
    'const s=require("net").createServer(c=>c.pipe(c)).listen(0,"127.0.0.1",()=>console.log("port "+s.address().port))'

  /** An agent that is not root has no way back into namespaces that it has closed behind a kernel. */
  const cannotEnter = (arrangement: Arrangement) => arrangement.startsWith('namespaces by ')

  const closed = arrangements.filter(({ arrangement }) => cannotEnter(arrangement))
  const open = arrangements.filter(({ arrangement }) => !cannotEnter(arrangement))

  describe.each(closed)('in a kernel isolated by $arrangement', ({ arrangement, fault }) => {
    test.skipIf(fault !== null)(
      `a command is refused, and it is said why${fault === null ? '' : `: ${fault}`}`,
      async () => {
        const fixture = await createProcessFixture({ arrangement })
        const executor = fixture.create({ changed: () => undefined })
        await executor.recover()
        const spec = kernelSpec({ command: ['sleep', '1000'] })
        executor.start(spec, 1)
        await reaches(executor, spec.kernelId, 'RUNNING')
        const refused = eventually(() =>
          executor.exec!(spec.kernelId, 1, request(['true'])).then(
            () => 'entered',
            (error: { code: string }) => error.code !== 'SESSION_NOT_RUNNING' && error.code,
          ),
        )
        expect(await refused).toBe('CHANNEL_UNSUPPORTED')
        executor.forget(spec.kernelId, 1)
        await eventually(() => executor.observe().length === 0)
        await executor.close()
        await fixture.dispose()
      },
    )
  })

  for (const { arrangement, fault } of open.filter((each) => each.arrangement.startsWith('namespaces'))) {
    expectNothingPlantedRuns(arrangement, fault)
  }

  for (const { arrangement, fault } of open) {
    const createFixture = async () => ({
      ...(await createProcessFixture({ arrangement })),
      echoServer: () => Promise.resolve([process.execPath, '-e', SERVER]),
    })
    execConformance(`processes isolated by ${arrangement}`, createFixture, fault)
  }
})

describe('programs that cannot be run as they are', () => {
  const named = (name: string) => arrangements.filter(({ arrangement }) => arrangement.startsWith(name))

  async function endOf(arrangement: Arrangement, command: (place: string) => string[]) {
    const fixture = await createProcessFixture({ arrangement })
    const place = mkdtempSync(join(tmpdir(), 'reprise-programs-'))
    const executor = fixture.create({ changed: () => undefined })
    await executor.recover()
    const spec = kernelSpec({ command: command(place) })
    executor.start(spec, 1)
    const { error } = await reaches(executor, spec.kernelId, 'EXITED')
    executor.forget(spec.kernelId, 1)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
    await fixture.dispose()
    rmSync(place, { recursive: true })
    return { error, place }
  }
  const inPlace = (place: string) => {
    writeFileSync(join(place, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
    return [join(place, 'run.sh')]
  }

  for (const { arrangement, fault } of named('namespaces')) {
    test.skipIf(fault !== null)(`${arrangement}: a program below /tmp is named with the reason`, async () => {
      const { error, place } = await endOf(arrangement, inPlace)
      expect(error).toMatchObject({ name: 'command-not-found', message: expect.stringContaining('their own /tmp') })
      expect(error!.message).toContain(join(place, 'run.sh'))
    })

    test.skipIf(fault !== null)(`${arrangement}: so is a file in a read-only place`, async () => {
      const { error } = await endOf(arrangement, () => ['sh', '-c', 'echo first >&2; touch /usr/out.csv'])
      expect(error).toMatchObject({ name: 'path-read-only', message: expect.stringContaining('write /usr/out.csv:') })
    })
  }

  const cannotMount = whyNoMounts()
  for (const { arrangement, fault } of named('namespaces')) {
    test.skipIf((fault ?? cannotMount) !== null)(
      `${arrangement}: so is a file on any file system, whatever its name and options`,
      async () => {
        const mounted = mkdtempSync('/var/reprise mounted-')
        try {
          execFileSync('mount', ['-t', 'tmpfs', '-o', 'nodiratime,mode=1777', 'reprise-test', mounted])
          const { error } = await endOf(arrangement, () => ['touch', join(mounted, 'file')])
          expect(error).toMatchObject({ name: 'path-read-only' })
          expect(readdirSync(mounted)).toEqual([])
        } finally {
          spawnSync('umount', [mounted])
          rmdirSync(mounted)
        }
      },
    )
  }

  for (const { arrangement, fault } of named('user')) {
    test.skipIf(fault !== null)(`${arrangement}: so is a directory that other users may not enter`, async () => {
      const { error, place } = await endOf(arrangement, inPlace)
      expect(error).toMatchObject({ name: 'command-not-found', message: expect.stringContaining(`enter ${place}.`) })
    })
  }
})

describe('directories', () => {
  let fixture: ProcessFixture
  let executor: Executor

  async function open(): Promise<Executor> {
    const opened = fixture.create({ changed: () => undefined })
    await opened.recover()
    return opened
  }

  beforeEach(async () => {
    fixture = await createProcessFixture()
    executor = await open()
  })
  afterEach(async () => {
    for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
    await fixture.dispose()
  })

  async function prepared(command: string[]): Promise<KernelSpec> {
    const spec = kernelSpec({ command })
    executor.prepare(spec, 1)
    await reaches(executor, spec.kernelId, 'PREPARED')
    return spec
  }

  test('closed right behind the order to start, each kernel runs exactly once', async () => {
    const witness = join(fixture.agentDir, 'witness')
    const specs = await Promise.all(Array.from({ length: 12 }, () => prepared(['sh', '-c', `echo ran >>${witness}`])))
    for (const spec of specs.slice(0, 6)) executor.start(spec, 1)
    await new Promise(setImmediate)
    for (const spec of specs.slice(6)) executor.start(spec, 1)
    await executor.close()
    for (const { kernelId } of specs) {
      expect(readdirSync(join(fixture.agentDir, 'kernels', kernelId))).toContainEqual(expect.stringMatching(/^run\./))
    }
    executor = await open()
    for (const { kernelId } of specs) expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 0 })
    expect(readFileSync(witness, 'utf8').split('\n').filter(Boolean)).toHaveLength(specs.length)
  })

  test('forgotten right behind the order to start, it is gone, and a greater assignment runs', async () => {
    const spec = await prepared(['sleep', '1000'])
    executor.start(spec, 1)
    executor.forget(spec.kernelId, 1)
    executor.start({ ...spec, command: ['echo', 'second'] }, 2)
    await eventually(() => find(executor, spec.kernelId)?.assignment === 2)
    expect(await reaches(executor, spec.kernelId, 'EXITED')).toMatchObject({ assignment: 2, exitCode: 0 })
    expect((await readAll(executor, spec.kernelId, 'STDOUT')).text).toBe('second\n')
  })

  test('the files of a chain are not dropped before its last kernel here is forgotten', async () => {
    const spec = kernelSpec({ command: ['sh', '-c', 'echo kept >"$REPRISE_CHAIN_DIR/state"; exec sleep 1000'] })
    executor.start(spec, 1)
    const stored = join(fixture.agentDir, 'chains', spec.chainId, 'state')
    await eventually(() => existsSync(stored))
    expect(executor.chains?.drop(spec.chainId)).toBe(false)
    expect(existsSync(stored)).toBe(true)
    executor.forget(spec.kernelId, 1)
    await eventually(() => executor.observe().length === 0)
    await eventually(() => executor.chains?.drop(spec.chainId))
    expect(existsSync(stored)).toBe(false)
  })

  test('many are forgotten at once, and a close waits until their directories are gone', async () => {
    const specs = await Promise.all(Array.from({ length: 40 }, () => prepared(['true'])))
    for (const { kernelId } of specs) executor.forget(kernelId, 1)
    expect(executor.observe()).toEqual([])
    await executor.close()
    expect(readdirSync(join(fixture.agentDir, 'kernels'))).toEqual([])
    executor = await open()
  })

  test('leftovers of an interrupted removal are no kernel, and are removed', async () => {
    const [left, reused] = [kernelSpec(), kernelSpec()]
    await executor.close()
    for (const { kernelId } of [left, reused]) leave(join(fixture.agentDir, 'kernels', kernelId))
    executor = await open()
    expect(executor.observe()).toEqual([])
    expect(existsSync(join(fixture.agentDir, 'kernels', left.kernelId))).toBe(false)
    leave(join(fixture.agentDir, 'kernels', reused.kernelId))
    executor.start(reused, 2)
    expect(await reaches(executor, reused.kernelId, 'EXITED')).toMatchObject({ exitCode: 0 })
  })

  /** All but the record, which is removed first. */
  function leave(path: string): void {
    mkdirSync(join(path, 'work'), { recursive: true })
    writeFileSync(join(path, 'run.old-0'), 'exit 9\n')
    writeFileSync(join(path, 'work', 'file'), 'x')
    writeFileSync(join(path, 'status'), 'began 1\nexit 9\n')
  }

  /** Without what the agent keeps beside them. */
  function directoriesIn(chains: string): string[] {
    return readdirSync(chains).filter((name) => !/^\.(?:attempt-|reprise-store$)/.test(name))
  }

  test("a chain's directory goes with its last kernel here where it is empty, and stays where it is not", async () => {
    const chains = join(fixture.agentDir, 'chains')
    const first = kernelSpec({ command: ['true'] })
    const second = kernelSpec({ command: ['true'], chainId: first.chainId })
    const keeper = kernelSpec({ command: ['sh', '-c', 'echo 1 >$REPRISE_CHAIN_DIR/checkpoint'] })
    for (const spec of [first, second, keeper]) executor.start(spec, 1)
    for (const { kernelId } of [first, second, keeper]) await reaches(executor, kernelId, 'EXITED')
    executor.forget(keeper.kernelId, 1)
    executor.forget(first.kernelId, 1)
    await eventually(() => !existsSync(join(fixture.agentDir, 'kernels', first.kernelId)))
    expect(existsSync(join(chains, first.chainId))).toBe(true)
    executor.forget(second.kernelId, 1)
    await eventually(() => !existsSync(join(chains, first.chainId)))
    expect(directoriesIn(chains)).toEqual([keeper.chainId])
  })

  test('all generations of a removed chain are dropped, also those that were moved aside', async () => {
    const chains = join(fixture.agentDir, 'chains')
    const first = kernelSpec({ command: ['sh', '-c', 'echo 1 >$REPRISE_CHAIN_DIR/checkpoint'] })
    const fresh = { ...first, kernelId: kernelSpec().kernelId, checkpoint: { generation: 1, newest: null } }
    for (const spec of [first, fresh]) {
      executor.start(spec, 1)
      await reaches(executor, spec.kernelId, 'EXITED')
    }
    mkdirSync(join(chains, `.stale-${first.chainId}`))
    expect(await executor.chains!.list()).toEqual([{ chainId: first.chainId, oldest: 0 }])
    for (const { kernelId } of [first, fresh]) executor.forget(kernelId, 1)
    // A kernel that is being removed needs the directory of its generation until its own is gone: one may go before another.
    await eventually(() => {
      executor.chains!.drop(first.chainId)
      return directoriesIn(chains).length === 0
    })
  })

  test('the files of a chain are dropped unless a kernel here needs them, also by the next instance', async () => {
    const chains = join(fixture.agentDir, 'chains')
    const spec = kernelSpec({ command: ['sh', '-c', 'echo 1 >$REPRISE_CHAIN_DIR/checkpoint'] })
    executor.start(spec, 1)
    await reaches(executor, spec.kernelId, 'EXITED')
    expect(await executor.chains!.list()).toEqual([{ chainId: spec.chainId, oldest: 0 }])
    expect(executor.chains!.drop(spec.chainId)).toBe(false)
    expect(directoriesIn(chains)).toEqual([spec.chainId])
    executor.forget(spec.kernelId, 1)
    await eventually(() => executor.observe().length === 0 && executor.chains!.drop(spec.chainId))
    await eventually(() => directoriesIn(chains).length === 0)
    for (const name of ['..', `../chains/${spec.chainId}`, spec.chainId])
      expect(executor.chains!.drop(name)).toBe(false)
    mkdirSync(join(chains, '.dropped-half/way'), { recursive: true })
    await executor.close()
    executor = await open()
    await eventually(() => directoriesIn(chains).length === 0)
  })

  const CHECKOUT = join(import.meta.dirname, '../../..')
  const OTHERS_READ = (path: string): boolean =>
    path === '/' || ((statSync(path).mode & 0o005) === 0o005 && OTHERS_READ(dirname(path)))
  const AM_ROOT = process.getuid!() === 0
  const unreadable = skipReason('isolation', AM_ROOT && !OTHERS_READ(CHECKOUT) ? 'other users cannot read it' : null)

  test.skipIf(unreadable !== null)(
    'files that their owner has locked are measured and dropped, also without root',
    async () => {
      const agentDir = await temporaryDirectory('chains')
      const uid = AM_ROOT ? 65_534 : process.getuid!()
      chownSync(agentDir, uid, uid)
      const asUser = AM_ROOT ? ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'] : ['env']
      const program = join(CHECKOUT, 'test/support/programs/chain-store-program.ts')
      const chainId = kernelSpec().chainId
      const [command, ...args] = [...asUser, process.execPath, program, agentDir, chainId]
      const [bytes, files] = execFileSync(command, args, { encoding: 'utf8' }).split(' ').map(Number)
      expect(bytes).toBeGreaterThan(3_000_000)
      expect(bytes).toBeLessThan(3_200_000)
      expect(files).toBe(5)
      expect(readdirSync(join(agentDir, 'chains'))).toEqual(['.reprise-store'])
    },
  )
})
