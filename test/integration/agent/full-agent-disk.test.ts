/** Agents on disks that have space for one thing more each time, and are full at one place after the other. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { decideIsolation } from '../../../src/agent/executors/process/isolation/decide-isolation.ts'
import { uploadCode } from '../../../src/services/code/upload-code.ts'
import { eventually } from '../../support/eventually.ts'
import { sessionRow } from '../../support/database/session-rows.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { whyNoMounts } from '../../support/run/mounts.ts'
import { TEST_CODE } from '../../support/servers/test-code.ts'
import { archiveOf, chunksOf } from '../code/code-archives.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { chainsOnMachines } from './chains-on-machines.ts'

const given = useAgentProgram()
const { machine, workGoesTo, record } = chainsOnMachines(given)

const mounts: string[] = []
// Their agents live longer than a test.
afterAll(() => {
  for (const path of mounts) execFileSync('umount', ['--lazy', path])
})

async function disk(options: string): Promise<string> {
  const path = await temporaryDirectory('disk')
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'reprise-test', path])
  mounts.push(path)
  return path
}

const become = (path: string, options: string) => execFileSync('mount', ['-o', `remount,${options}`, path])

/** Lets no more than so many files be made. */
function leaveFiles(path: string, count: number): void {
  const { files, ffree } = statfsSync(path)
  become(path, `nr_inodes=${files - ffree + count}`)
}

const FULL = /ENOSPC|No space left on device|the disk of .* is full/
const PAGE_KIB = 4

/** Drafts and probes, of which none may be left. */
const unfinished = (directory: string) =>
  (readdirSync(directory, { recursive: true }) as string[]).filter((name) =>
    /\.new$|\.claim$|\.reprise-store\.|agent\.lock\.|probe-|code\.part|exec\.|(^|\/)\.new-|(^|\/)\.snap-/.test(name),
  )

const noMounts = whyNoMounts()

describe.skipIf(noMounts !== null)(`a full disk${noMounts === null ? '' : ` (skipped: ${noMounts})`}`, () => {
  test.each([
    ['bytes', (count: number) => `size=${count * PAGE_KIB}k,nr_inodes=1000`],
    ['files', (count: number) => `size=16m,nr_inodes=${count}`],
  ])('of an agent that starts for the first time, with one more of its %s each time', async (_what, options) => {
    const path = await disk(options(2))
    const elsewhere = { agentDir: join(path, 'agent'), address: '127.0.0.1' }
    const faults: string[] = []
    const start = async () => {
      await decideIsolation({ mode: 'auto', dataDir: path, agentDir: elsewhere.agentDir, hide: [] })
      await given.newAgent({ elsewhere }).start()
    }
    for (let count = 2; ; count++) {
      become(path, options(count))
      const fault = await start().then(
        () => null,
        (error: Error) => error.message,
      )
      if (fault === null) break
      expect(fault).toMatch(FULL)
      expect(existsSync(elsewhere.agentDir) ? unfinished(path).filter((name) => !name.endsWith('.new')) : []).toEqual(
        [],
      )
      faults.push(fault)
      if (count > 100) throw new Error(`it never starts: ${faults.at(-1)}`)
    }
    expect(faults.length).toBeGreaterThan(3)
    become(path, options(10_000))
    const { sessionId } = await given.create(['echo', 'there is space'])
    await given.reaches(sessionId, 'TERMINATED')
    expect(unfinished(path)).toEqual([])
  })

  test('where kernels are prepared and started, with one more of their files each time', async () => {
    const path = await disk('size=16m,nr_inodes=1000')
    await given.newAgent({ elsewhere: { agentDir: join(path, 'agent'), address: '127.0.0.1' } }).start()
    const code = archiveOf({ 'one.sh': 'echo placed\n', 'lib/a.txt': 'a', 'lib/b.txt': 'b' })
    const upload = { sha256: code.sha256, project: 'default', bytes: null, source: chunksOf(code.bytes) }
    await uploadCode(given.server.context, TEST_CODE, upload)
    const begin = async () =>
      (await given.create(['sh', 'one.sh'], { codeSha256: code.sha256, retryPolicy: { maxRetries: 0 } })).sessionId
    const reasons = new Set<string>()
    for (let count = 1; ; count++) {
      become(path, 'nr_inodes=1000')
      await eventually(() => readdirSync(join(path, 'agent/kernels')).length === 0)
      leaveFiles(path, count)
      const sessionId = await begin()
      const ended = await eventually(async () => {
        const row = await sessionRow(given.db, sessionId)
        return (row.status === 'TERMINATED' || row.cause !== null) && row
      })
      if (ended.status === 'TERMINATED') break
      expect(ended.reason).toMatch(FULL)
      reasons.add(ended.reason!.replaceAll(/'[^']*'|\/\S+/g, ''))
      if (count > 100) throw new Error(`no kernel ends well: ${ended.reason}`)
    }
    expect(reasons.size).toBeGreaterThan(2)
    become(path, 'nr_inodes=1000')
    await given.reaches(await begin(), 'TERMINATED')
    await eventually(() => readdirSync(join(path, 'agent/kernels')).length === 0)
    expect(unfinished(path)).toEqual([])
  })

  test('where code is larger than what is left: nothing of it stays, and the next has its space', async () => {
    const path = await disk('size=3m')
    await given.newAgent({ elsewhere: { agentDir: join(path, 'agent'), address: '127.0.0.1' } }).start()
    const code = archiveOf({ 'large.sh': `echo placed; exit\n${'#'.repeat(4_000_000)}` })
    const upload = { sha256: code.sha256, project: 'default', bytes: null, source: chunksOf(code.bytes) }
    await uploadCode(given.server.context, TEST_CODE, upload)
    const input = { codeSha256: code.sha256, retryPolicy: { maxRetries: 0 } }
    const { sessionId } = await given.create(['sh', 'large.sh'], input)
    const { reason } = await given.reaches(sessionId, 'ERROR')
    expect(reason).toMatch(/the uploaded code could not be written: ENOSPC/)
    await eventually(() => readdirSync(join(path, 'agent/kernels')).length === 0)
    become(path, 'size=64m')
    const next = await given.create(['sh', 'large.sh'], input)
    await given.reaches(next.sessionId, 'TERMINATED')
    expect(await given.text(next.kernelId)).toBe('placed\n')
  })

  test('where a running program publishes: it is answered once there is space', async () => {
    const chains = await disk('size=16m,nr_inodes=1000')
    const [one] = [await machine('one', chains), await machine('two')]
    await workGoesTo(one)
    const go = join(await temporaryDirectory('go'), 'go')
    const program = `cd "$REPRISE_CHAIN_DIR"; echo 5 >step; : >ready; until [ -e ${go} ]; do sleep 0.05; done
      : >.publish; while [ -e .publish ]; do sleep 0.05; done; cat .published`
    const { sessionId, kernelId } = await given.create(['sh', '-c', program], { retryPolicy: { maxRetries: 1 } })
    await eventually(() => existsSync(join(chains, sessionId, 'ready')))
    for (const files of [1, 2, 3]) {
      leaveFiles(chains, existsSync(join(chains, sessionId, '.publish')) ? files - 1 : files)
      writeFileSync(go, '')
      await eventually(() => existsSync(join(chains, sessionId, '.publish')))
      const { rows } = await given.db.query('SELECT status FROM sessions WHERE id = $1', [sessionId])
      expect(rows).toEqual([{ status: 'RUNNING' }])
    }
    become(chains, 'nr_inodes=1000')
    await given.reaches(sessionId, 'TERMINATED')
    expect(JSON.parse(await given.text(kernelId))).toMatchObject({ published: true, reason: null })
    expect(await record(sessionId)).toMatchObject({ relay_attempt: 1 })
    expect(unfinished(chains)).toEqual([])
  })
})
