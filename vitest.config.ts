import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'

export default defineConfig({
  resolve: {
    // Two copies of graphql in one process refuse each other's schemas.
    alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }],
  },
  test: {
    maxWorkers: 4,
    // The source keeps nothing at the level of modules, so files may share what one of them has loaded.
    isolate: false,
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('.cache/compiled', import.meta.url)) },
    retry: 0,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: { name: 'pure', include: ['test/{unit,guard}/**/*.test.ts'], testTimeout: 30_000 },
      },
      {
        extends: true,
        test: {
          name: 'database',
          include: ['test/{integration,contract,e2e}/**/*.test.ts'],
          globalSetup: 'test/support/run.setup.ts',
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
