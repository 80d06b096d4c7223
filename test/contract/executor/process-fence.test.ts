import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readBootId, readProcStat, uptimeSeconds } from '../../../src/agent/executors/process/proc-stat.ts'
import { eventually } from '../../support/eventually.ts'
import { find, kernelSpec, reaches } from './executor-subject.ts'
import { createProcessFixture } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

function alive(mark: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => {
    try {
      const isOurs = readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith(`sleep\0${mark}`)
      return isOurs && !'ZX'.includes(readProcStat(Number(pid))?.state ?? 'X')
    } catch {
      return false
    }
  })
}

/** Without a cgroup, only the end of a PID namespace is the end of all that is in it. */
const ENDED = [
  ...arrangements.map((each) => ({ ...each, by: 'as this machine can', cgroups: true })),
  ...arrangements
    .filter(({ arrangement }) => arrangement.startsWith('namespaces'))
    .map((each) => ({ ...each, by: 'without cgroups', cgroups: false })),
]

describe.each(ENDED)('the fence of a dead agent, $arrangement, $by', ({ arrangement, fault, cgroups }) => {
  test.skipIf(fault !== null)('ends the kernel and the daemons that it has started', async () => {
    const fixture = await createProcessFixture({ arrangement, ...(!cgroups && { cgroupMount: null }) })
    const { agentDir } = fixture
    const mark = `88888.${process.pid}${Math.floor(performance.now())}`
    const daemon = `(setsid sleep ${mark} >/dev/null 2>&1 </dev/null &)`
    const spec = kernelSpec({ command: ['sh', '-c', `trap '' TERM; ${daemon}; sleep ${mark}; :`] })
    const input = Buffer.from(
      JSON.stringify({ agentDir, specs: [spec], word: 'start', arrangement, cgroups }),
    ).toString('base64')
    const holder = spawn(process.execPath, [join(import.meta.dirname, 'executor-holder.ts'), input], {
      stdio: 'ignore',
    })
    await eventually(() => alive(mark).length === 2)
    // Without a fence, the keeper leaves when its agent is gone.
    writeFileSync(join(agentDir, 'fence'), `${Math.floor(uptimeSeconds())} ${readBootId()}\n`)
    holder.kill('SIGKILL')
    await eventually(() => alive(mark).length === 0, { withinMs: 120_000 })
    const next = fixture.create({ changed: () => undefined })
    await next.recover()
    expect(await reaches(next, spec.kernelId, 'EXITED')).toMatchObject({ error: { name: 'agent-fenced' } })
    next.forget(spec.kernelId, 3)
    await eventually(() => find(next, spec.kernelId) === undefined)
    await next.close()
    await fixture.dispose()
  })
})
