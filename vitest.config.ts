import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/run/longest-first.ts'
import { PARTS, type Part } from './test/support/run/parts.ts'

// Of the workers and of all that they start.
// oxlint-disable-next-line node/no-process-env -- so that all of them inherit it
process.env['NODE_COMPILE_CACHE'] = fileURLToPath(new URL('.cache/compiled', import.meta.url))

/** In this order, each after the one before: there is never more than one kind of engine at work. */
const ORDER: readonly Part[] = ['pure', 'quick', 'long', 'browser', 'containers', 'slurm']
const PROJECTS: readonly Part[] = [...ORDER, 'machine']

export default defineConfig({
  test: {
    maxWorkers: 4,
    // Files share a worker's heap, of which little lives long: less often collected, it costs 7 % less CPU. All cores
    // are busy, so that threads which collect together only wait for each other.
    execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=64', '--single-threaded-gc'],
    // The source keeps nothing at the level of modules, so files may share what one of them has loaded.
    isolate: false,
    // Node loads all files itself, as where they run: one copy of each module, and nothing is transformed.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    retry: 0,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/support/run/run-reporter.ts'],
    runner: './test/support/run/measuring-runner.ts',
    projects: PROJECTS.map((part) => (part === 'pure' ? pureProject() : projectOf(part))),
  },
})

function pureProject() {
  return {
    extends: true as const,
    test: {
      name: 'pure',
      include: [...PARTS.pure],
      // These never wait, and a worker costs more than a second of CPU before its first test.
      maxWorkers: 2,
      sequence: { groupOrder: 0 },
      // Reading all sources takes 1 to 2 s of CPU.
      testTimeout: 120_000,
      hookTimeout: 120_000,
    },
  }
}

function projectOf(part: Exclude<Part, 'pure'>) {
  return {
    extends: true as const,
    test: {
      name: part,
      ...(part === 'quick'
        ? { include: ['test/**/*.test.ts'], exclude: Object.values(PARTS).flat() }
        : { include: [...PARTS[part]] }),
      globalSetup: 'test/support/run/run.setup.ts',
      // Each container costs as much CPU as many tests elsewhere: with more, all of them wait for the processors.
      ...(part === 'containers' && { maxWorkers: 2, maxConcurrency: 2 }),
      // Tests of Slurm mostly wait, and those of `machine` use no engine.
      sequence: { groupOrder: ORDER.indexOf(part === 'machine' ? 'slurm' : part) },
      // Of servers that live for seconds: each connection first looks everything up, which costs more than to wait.
      env: { REPRISE_DATABASE_CONNECTIONS: '5' },
      // Twenty times what most tests take: these only end what hangs.
      testTimeout: 300_000,
      hookTimeout: 300_000,
    },
  }
}
