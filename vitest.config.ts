import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: {
    // Two copies of graphql in one process refuse each other's schemas.
    alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }],
  },
  test: {
    maxWorkers: 3,
    retry: 0,
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
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
