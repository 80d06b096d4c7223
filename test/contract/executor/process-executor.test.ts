import { executorConformance } from './executor-conformance.ts'
import { createProcessFixture } from './process-fixture.ts'

executorConformance('process, memory watched', () => createProcessFixture('watch'))
executorConformance('process, memory by cgroup where writable', () => createProcessFixture('auto'))
