import { afterAll, beforeAll, describe, inject } from 'vitest'
import { ENGINES, type PrivateEngine, startEngine, whyNoEngine } from '../../support/containers/private-engine.ts'
import { createContainerFixture } from './container-fixture.ts'
import { executorConformance } from './executor-conformance.ts'

describe.each(ENGINES)('%s', (name) => {
  const missing = whyNoEngine(name)
  let engine: PrivateEngine

  beforeAll(async () => {
    if (missing === null) engine = await startEngine(name, { ofRun: inject('runDirectory') })
  })
  afterAll(() => engine?.[Symbol.asyncDispose]())

  executorConformance(`container, with ${name}`, () => createContainerFixture(engine, { pull: 'never' }), missing)
})
