import { defineConfig } from 'vitest/config'

/** The vitest configuration for files that an ordinary user runs, started by a test of root. */
export default defineConfig({
  cacheDir: `${process.env['HOME']}/cache`,
  test: {
    maxWorkers: 2,
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    include: ['test/contract/executor/{container,slurm}-*.test.ts'],
    provide: { runDirectory: process.env['HOME'] ?? '' },
    globalSetup: 'test/support/containers/ordinary-user.setup.ts',
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
