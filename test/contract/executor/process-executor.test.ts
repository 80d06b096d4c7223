import { executorConformance } from './executor-conformance.ts'
import { createProcessFixture } from './process-fixture.ts'

executorConformance('process, memory watched, no cgroups', () =>
  createProcessFixture({ memoryLimit: 'watch', cgroupMount: null }),
)
executorConformance('process, memory by cgroup where writable', () => createProcessFixture())
