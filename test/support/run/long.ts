import { readFileSync, writeFileSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { createVitest, type Reporter, type TestCase, type TestModule, type TestSpecification } from 'vitest/node'
import { SEEDS_FILE, type SavedSeed } from './saved-seeds.ts'

/**
 * `long.ts [--minutes N | --seed S] [--seeds-file F] [--canary] [files]`: runs all tests that make random choices, round
 * after round, each round with a new seed, until the minutes have passed or Ctrl-C is pressed; with `--seed` one round
 * with that seed. Each seed with which a test fails is saved, so that every run of the suite repeats it.
 *
 * `--canary` switches on a fault that the test in event-order.property.test.ts has for this purpose: the loop must find it.
 */

const ROOT = join(import.meta.dirname, '../../..')
const SEED_BOUND = 2 ** 31
const FOUND_LENGTH_MAX = 300

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether the planted fault is switched on. */
    canary?: boolean
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
    'seeds-file': { type: 'string', default: SEEDS_FILE },
    canary: { type: 'boolean', default: false },
  },
})
const seedsFile = resolve(values['seeds-file'])
const onlySeed = values.seed === undefined ? null : Number(values.seed)
const counts = { rounds: 0, passed: 0, failed: 0, saved: 0 }
/** Ids of the tests that have asked for seeds, by file: the later rounds run only these. */
const seeded = new Map<string, Set<string>>()
let seed = 0
const run = { isStopping: false }

const reporter: Reporter = {
  onTestCaseResult(test) {
    const { state } = test.result()
    if (!test.meta().seeded) return state === 'failed' ? fail(test.fullName, test.module, 'with any seed') : undefined
    const ids = seeded.get(test.module.moduleId) ?? new Set()
    seeded.set(test.module.moduleId, ids.add(test.id))
    if (state === 'passed') counts.passed++
    if (state === 'failed') failWithSeed(test)
  },
  onTestModuleEnd(module) {
    for (const error of module.errors()) fail(error.message, module, 'with any seed')
    if (!run.isStopping) console.log(`seed ${seed} · ${pathOf(module)} · ${counts.passed} passed so far`)
  },
  onTestRunEnd(_modules, errors) {
    for (const { message } of run.isStopping ? [] : errors) {
      counts.failed++
      console.log(`FAILED outside of any test: ${message}`)
    }
  },
}

/** Failures of tests that were interrupted say nothing. */
function fail(what: string, module: TestModule, how: string): void {
  if (run.isStopping) return
  counts.failed++
  console.log(`FAILED ${how}: ${pathOf(module)} > ${what}`)
}

function failWithSeed(test: TestCase): void {
  if (run.isStopping) return
  fail(test.fullName, test.module, `with seed ${seed}`)
  const { message = '' } = test.result().errors?.[0] ?? {}
  const found = stripVTControlCharacters(message).replaceAll(/\s+/g, ' ').trim().slice(0, FOUND_LENGTH_MAX)
  const file = pathOf(test.module)
  console.log(`  ${found}\n  again: npm run test:long -- --seed ${seed} ${file}`)
  if (onlySeed !== null) return
  const all = savedSeeds()
  if (all.some((entry) => entry.file === file && entry.test === test.fullName && entry.seed === seed)) return
  const date = new Date().toISOString().slice(0, 10)
  writeFileSync(seedsFile, `${JSON.stringify([...all, { file, test: test.fullName, seed, date, found }], null, 2)}\n`)
  counts.saved++
  console.log(`  saved in ${relative(process.cwd(), seedsFile)}`)
}

function savedSeeds(): SavedSeed[] {
  try {
    return JSON.parse(readFileSync(seedsFile, 'utf8')) as SavedSeed[]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function pathOf({ moduleId }: TestModule): string {
  return relative(ROOT, moduleId)
}

/** The test files that ask for seeds. */
async function seededFiles(): Promise<string[]> {
  const files: string[] = []
  for await (const path of glob('test/**/*.test.ts', { cwd: ROOT })) {
    const isWanted = positionals.length === 0 || positionals.some((wanted) => path.includes(wanted))
    if (isWanted && /support\/seeds\.ts'/.test(await readFile(join(ROOT, path), 'utf8'))) files.push(path)
  }
  return files
}

/** The tests of the first round that asked for seeds. */
function onlySeeded(specifications: readonly TestSpecification[]): TestSpecification[] {
  return specifications.flatMap(({ project, moduleId }) => {
    const testIds = [...(seeded.get(moduleId) ?? [])]
    return testIds.length === 0 ? [] : [project.createSpecification(moduleId, { testIds })]
  })
}

const files = await seededFiles()
if (files.length === 0) throw new Error(`no test that makes random choices is in ${positionals.join(', ')}`)
const vitest = await createVitest('test', { root: ROOT, watch: false, reporters: [reporter] })

function stop(): void {
  if (run.isStopping) process.exit(130)
  run.isStopping = true
  void vitest.cancelCurrentRun('keyboard-input')
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
const timer = onlySeed === null ? setTimeout(stop, Number(values.minutes) * 60_000) : undefined

let specifications = await vitest.globTestSpecifications(files)
while (!run.isStopping && specifications.length > 0) {
  seed = onlySeed ?? Math.floor(Math.random() * SEED_BOUND)
  for (const project of vitest.projects) {
    project.provide('seed', seed)
    project.provide('canary', values.canary)
  }
  await vitest.runTestSpecifications(specifications)
  if (run.isStopping) break
  counts.rounds++
  if (onlySeed !== null) break
  specifications = onlySeeded(specifications)
}
clearTimeout(timer)
// A second signal must not break off what ends here.
run.isStopping = true
await vitest.close()
const { rounds, passed, failed, saved } = counts
console.log(`${rounds} whole rounds: ${passed} tests passed, ${failed} failed, ${saved} seeds saved in ${seedsFile}`)
process.exit(failed > 0 ? 1 : 0)
