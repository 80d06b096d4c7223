import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/run/longest-first.ts'

// Of the workers and of all that they start.
// oxlint-disable-next-line node/no-process-env -- so that all of them inherit it
process.env['NODE_COMPILE_CACHE'] = fileURLToPath(new URL('.cache/compiled', import.meta.url))

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
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: ['test/{unit,guard}/**/*.test.ts'],
          // These never wait, and a worker costs more than a second of CPU before its first test.
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'database',
          include: ['test/{integration,contract,e2e}/**/*.test.ts'],
          globalSetup: 'test/support/run/run.setup.ts',
          sequence: { groupOrder: 1 },
          // Of servers that live for seconds: each connection first looks everything up, which costs more than to wait.
          env: { REPRISE_DATABASE_CONNECTIONS: '5' },
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          globalSetup: 'test/support/run/run.setup.ts',
          // A browser has processes of its own.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          env: { REPRISE_DATABASE_CONNECTIONS: '5' },
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
