import { executorConformance } from './executor-conformance.ts'
import { createProcessFixture } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

for (const { arrangement, fault } of arrangements) {
  executorConformance(`process, isolated by ${arrangement}`, () => createProcessFixture({ arrangement }), fault)
}
