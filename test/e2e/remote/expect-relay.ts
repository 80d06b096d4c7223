import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { commandLine } from '../../support/programs/command-line.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { publishing, workGoesTo, workOn } from './relayed-work.ts'
import { type RemoteFleet, textOf } from './remote-fleet.ts'

/** Checks two agents without a common file system, with any executor. */

/** An agent that is killed for good, and one that goes on. */
export interface Loss {
  fleet: RemoteFleet
  from: string
  to: string
  /** Starts the one that is lost, before and after. */
  start(name: string): Promise<SpawnedProgram>
  /** Time for which kernels outlive the agent. */
  fenceMs: number
  /** Directory of the chains on that agent. */
  chains: string
  withinMs: number
}

/** Only what the program wrote after its last publication is lost. */
export async function expectPublishedToOutlive(loss: Loss): Promise<void> {
  const { fleet, from, to, start, fenceMs, chains, withinMs } = loss
  // Agents are told when they register.
  await fleet.sql(`UPDATE resource_groups SET fence_after_ms = ${fenceMs}`)
  const agent = await start(from)
  await workGoesTo(fleet, from)
  const work = 'save 1; publish; save 2; publish; cat .published; save 3; exec sleep 1000'
  const retryPolicy = { maxRetries: 3, retryDelay: 0.1 }
  const id = await fleet.createSession({ command: ['sh', '-c', publishing(work)], retryPolicy })
  await eventually(() => existsSync(join(chains, id, 'step3/sums')), { withinMs })
  await fleet.until(id, ([first]) => textOf(first!).includes('"published":true'), withinMs)
  await workGoesTo(fleet, to)
  await agent.kill()
  const [first, second] = await fleet.until(id, ([, retry]) => retry?.status === 'TERMINATED', withinMs)
  expect(first).toMatchObject({ failureCause: 'AGENT_TRANSIENT' })
  expect(textOf(second!)).toBe('fetched1: 2 whole\n')
  await start(from)
}

const LEAVES_A_LINK = `cd "$REPRISE_CHAIN_DIR"
echo "$REPRISE_CHECKPOINT$REPRISE_CHECKPOINT_ATTEMPT $(ls -A)"
test $REPRISE_ATTEMPT = 1 || exit 0
echo 1 >file; ln -s /etc/passwd link; exit 3`

/** A checkpoint that cannot travel stays where it is; the program and people are told. */
export async function expectMissing(fleet: RemoteFleet, way: readonly [string, string], withinMs: number) {
  const create = (retryPolicy: object) => fleet.createSession({ command: ['sh', '-c', LEAVES_A_LINK], retryPolicy })
  const { chainId, said } = await workOn(fleet, way, create, withinMs)
  expect(said[1]).toBe('missing1 \n')
  const [, retry] = (await fleet.rest(`/v2/sessions/${chainId}/attempts`)).items
  expect(retry.checkpoint).toMatchObject({ state: 'MISSING', from_attempt: 1, note: expect.stringContaining(way[0]) })
}

/** Says what it finds, and changes it: the next attempt has it as it was. */
const UPLOADED = `#!/bin/sh
find . -type f | sort | xargs sha1sum
echo "by $(id -u) of $(stat -c %u . run.sh lib lib/data.txt | sort -u)."
echo more >>lib/data.txt && rm run.sh
test $REPRISE_ATTEMPT = LAST
`

/**
 * On these agents each attempt has the very files that were uploaded, as its own.
 *
 * @returns as whom each has run
 */
export async function expectUploadOn(fleet: RemoteFleet, way: readonly string[], withinMs: number): Promise<number[]> {
  const here = await temporaryDirectory('uploaded')
  await mkdir(join(here, 'lib'))
  await writeFile(join(here, 'lib/data.txt'), 'data\n')
  await writeFile(join(here, 'run.sh'), UPLOADED.replace('LAST', String(way.length)))
  await chmod(join(here, 'run.sh'), 0o755)
  const environment = { REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken, XDG_CONFIG_HOME: here }
  const create = async () => {
    const retries = ['--retries', String(way.length - 1), '--retry-delay', '1h']
    const words = ['create', '--name', 'uploaded', ...retries, '--upload', '.', '--', './run.sh']
    const { status, stdout, stderr } = await commandLine(environment, here)(...words)
    expect({ status, stderr }).toMatchObject({ status: 0 })
    return stdout.trim()
  }
  const { said } = await workOn(fleet, way, create, withinMs)
  const [files] = said[0]!.split('by ')
  expect(files!.match(/\S+$/gm)).toEqual(['./lib/data.txt', './run.sh'])
  const uids = said.map((text) => /^by (\d+) /m.exec(text)![1])
  expect(said).toEqual(uids.map((uid) => `${files}by ${uid} of ${uid}.\n`))
  return uids.map(Number)
}
