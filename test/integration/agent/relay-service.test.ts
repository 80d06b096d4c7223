/** The server's side of the relay: copies of checkpoints, whole or not at all, and never an old one for a new one. */
import { createHash } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { packCheckpoint, type PackedCheckpoint } from '../../../src/agent/executors/process/chain/pack-checkpoint.ts'
import { offerCheckpoint, openRelayed, receiveCheckpoint } from '../../../src/services/checkpoint/relay-checkpoint.ts'
import { createCodeStore } from '../../../src/services/code/code-store.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { useAgentProgram } from './agent-fixture.ts'

const given = useAgentProgram()

async function packed(text: string) {
  const directory = await temporaryDirectory('checkpoint')
  writeFileSync(`${directory}/steps`, text)
  return (await packCheckpoint(directory, { archiveBytesMax: 1e6, entriesMax: 10 })) as PackedCheckpoint
}

test('a copy is on record once it is whole, and only of the newest attempt', async () => {
  const agent = given.newAgent({ name: 'one' })
  await agent.start()
  const { sessionId } = await given.create(['sleep', '600'])
  const kernel = await eventually(
    async () =>
      (
        await given.db.query<{ kernelId: string; agentId: string; assignment: number }>(
          `SELECT id AS "kernelId", agent_id AS "agentId", assignment FROM kernels WHERE session_id = $1 AND status = 'RUNNING'`,
          [sessionId],
        )
      ).rows[0],
  )
  const directory = await temporaryDirectory('server')
  const relay = createCodeStore({ directory, folder: 'relay', bytesMax: 1e6, projectBytesMax: 1e9 })
  const context = { db: given.db, relay }
  const [one, two] = [await packed('1'), await packed('2')]
  const relayed = ({ sha256, archiveBytes, files, bytes }: PackedCheckpoint, generation = 0) => {
    return { sha256, archiveBytes, files, bytes, generation }
  }
  expect(await offerCheckpoint(context, kernel, relayed(one))).toEqual({ wanted: true })
  await expect(openRelayed(context, kernel)).rejects.toMatchObject({ code: 'CODE_NOT_FOUND' })

  // Something else than was announced leaves nothing.
  const wrong = { ...relayed(one), source: two.read() }
  await expect(receiveCheckpoint(context, kernel, wrong)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  expect(readdirSync(`${directory}/relay`, { recursive: true }).filter((name) => `${name}`.includes('.'))).toEqual([])
  await expect(openRelayed(context, kernel)).rejects.toMatchObject({ code: 'CODE_NOT_FOUND' })

  expect(await receiveCheckpoint(context, kernel, { ...relayed(one), source: one.read() })).toEqual({ recorded: true })
  const hash = createHash('sha256')
  for await (const chunk of (await openRelayed(context, kernel)).chunks) hash.update(chunk)
  expect(hash.digest('hex')).toBe(one.sha256)
  expect(await offerCheckpoint(context, kernel, relayed(one))).toEqual({ wanted: false })
  expect(await offerCheckpoint(context, kernel, relayed(two))).toEqual({ wanted: true })
  expect(await offerCheckpoint(context, kernel, relayed(two, 1))).toEqual({ wanted: false })
  const stale = { ...kernel, assignment: kernel.assignment - 1 }
  expect(await offerCheckpoint(context, stale, relayed(two))).toEqual({ wanted: false })
  await expect(openRelayed(context, stale)).rejects.toMatchObject({ code: 'KERNEL_NOT_FOUND' })

  // A later attempt has left something that was not sent: the copy is older than the record.
  await given.db.query('UPDATE checkpoints SET attempt = 2 WHERE chain_id = $1', [sessionId])
  await expect(openRelayed(context, kernel)).rejects.toMatchObject({ code: 'CODE_NOT_FOUND' })
  expect(await receiveCheckpoint(context, kernel, { ...relayed(two), source: two.read() })).toEqual({ recorded: false })
}, 120_000)
