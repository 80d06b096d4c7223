import { execFile } from 'node:child_process'
import { cp, mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { bundleProgram } from '../../scripts/bundle.ts'
import { ROOT } from '../guard/source-files.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** A checkout with a program that says where it runs from, and what it finds beside its source. */

const PROGRAM = `import { greeting } from './greeting.ts'
console.log(JSON.stringify({ greeting, from: import.meta.url, beside: import.meta.dirname }))
`

let checkout: string
let source: string

beforeAll(async () => {
  checkout = await temporaryDirectory('bundle')
  source = join(checkout, 'src')
  await cp(join(ROOT, 'scripts/bundle.ts'), join(checkout, 'scripts/bundle.ts'))
  for (const name of ['main.ts', 'bundle.ts']) await cp(join(ROOT, 'src', name), join(source, name))
  await mkdir(join(checkout, 'node_modules'))
  await writeFile(join(checkout, 'node_modules/.package-lock.json'), '{}')
  await writeFile(join(checkout, 'package.json'), '{ "type": "module" }')
  await writeFile(join(source, 'reprise.ts'), PROGRAM)
  await writeFile(join(source, 'greeting.ts'), `export const greeting: string = 'hello'\n`)
  await writeFile(join(source, 'old.ts'), '')
})

async function run(): Promise<{ greeting: string; bundled: boolean; beside: string }> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(source, 'main.ts')])
  const { from, ...said } = JSON.parse(stdout)
  return { ...said, bundled: from.includes('/.cache/bundle/') }
}

test('the bundle is run for as long as the sources are what it was made from', async () => {
  const beside = source
  expect(await run()).toEqual({ greeting: 'hello', bundled: false, beside })
  await bundleProgram(checkout)
  expect(await run()).toEqual({ greeting: 'hello', bundled: true, beside })

  await writeFile(join(source, 'greeting.ts'), `export const greeting: string = 'howdy'\n`)
  expect(await run()).toEqual({ greeting: 'howdy', bundled: false, beside })
  await Promise.all([bundleProgram(checkout), bundleProgram(checkout)])
  expect(await run()).toEqual({ greeting: 'howdy', bundled: true, beside })
})

test.each<[string, () => Promise<unknown>]>([
  ['a new file', () => writeFile(join(source, 'new.ts'), '')],
  ['a file that is gone', () => rm(join(source, 'old.ts'))],
  ['other packages', () => writeFile(join(checkout, 'node_modules/.package-lock.json'), '{ "packages": {} }')],
  ['a file written anew', () => utimes(join(source, 'greeting.ts'), new Date(), new Date())],
])('%s asks for another bundle', async (_what, change) => {
  await bundleProgram(checkout)
  expect(await run()).toMatchObject({ bundled: true })
  await change()
  expect(await run()).toMatchObject({ bundled: false })
})

test('a checkout without a lockfile of its packages runs, too', async () => {
  await rm(join(checkout, 'node_modules/.package-lock.json'))
  expect(await run()).toMatchObject({ greeting: 'howdy', bundled: false })
})
