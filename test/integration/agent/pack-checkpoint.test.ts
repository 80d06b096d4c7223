import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { extractArchive } from '../../../src/archive/extract-archive.ts'
import { packCheckpoint, type PackedCheckpoint } from '../../../src/agent/executors/process/chain/pack-checkpoint.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

const BOUNDS = { archiveBytesMax: 100_000, entriesMax: 6 }

async function directoryOf(order: readonly string[]): Promise<string> {
  const directory = await temporaryDirectory('checkpoint')
  mkdirSync(join(directory, 'parts'))
  for (const name of order) writeFileSync(join(directory, name), `content of ${name}`)
  return directory
}

test('equal directories are equal archives, which make the same directory elsewhere', async () => {
  const [one, two] = [await directoryOf(['a', 'parts/b', 'parts/c']), await directoryOf(['parts/c', 'parts/b', 'a'])]
  for (const directory of [one, two]) symlinkSync('parts/b', join(directory, 'latest'))
  chmodSync(join(one, 'a'), 0o755)
  chmodSync(join(two, 'a'), 0o755)
  utimesSync(join(two, 'a'), 1, 1)
  const packed = (await packCheckpoint(one, BOUNDS)) as PackedCheckpoint
  expect(packed).toMatchObject({ files: 3, bytes: 12 + 18 + 18 })
  expect(await packCheckpoint(two, BOUNDS)).toMatchObject({ sha256: packed.sha256 })

  const copy = join(await temporaryDirectory('elsewhere'), 'copy')
  await extractArchive(packed.read(), copy, { uid: null, entriesMax: 6 })
  expect(readFileSync(join(copy, 'parts/c'), 'utf8')).toBe('content of parts/c')
  expect(readlinkSync(join(copy, 'latest'))).toBe('parts/b')
  expect([statSync(join(copy, 'a')).mode & 0o777, statSync(join(copy, 'parts/b')).mode & 0o777]).toEqual([0o755, 0o644])
  expect(await packCheckpoint(copy, BOUNDS)).toMatchObject({ sha256: packed.sha256 })
})

test('what cannot travel whole does not travel, and is said', async () => {
  const [large, many, leaving] = [await directoryOf(['a']), await directoryOf(['a']), await directoryOf(['a'])]
  writeFileSync(join(large, 'weights'), Buffer.alloc(100_000))
  for (let index = 0; index < 6; index++) writeFileSync(join(many, `parts/${index}`), '')
  symlinkSync('/etc/passwd', join(leaving, 'parts/out'))
  expect(await packCheckpoint(large, BOUNDS)).toBe('it is larger than 100000 bytes')
  expect(await packCheckpoint(many, BOUNDS)).toBe('it has more than 6 entries')
  expect(await packCheckpoint(leaving, BOUNDS)).toBe('the link parts/out leads to /etc/passwd, which is absolute')
})
