import { afterAll, beforeAll, describe, inject } from 'vitest'
import { lastingPort } from '../../support/agents/lasting-port.ts'
import { ENGINES, type PrivateEngine, startEngine, whyNoEngine } from '../../support/containers/private-engine.ts'
import { createContainerFixture } from './container-fixture.ts'
import { execConformance } from './exec-conformance.ts'

describe.each(ENGINES)('%s', (name) => {
  const missing = whyNoEngine(name)
  let engine: PrivateEngine

  beforeAll(async () => {
    if (missing === null) engine = await startEngine(name, { ofRun: inject('runDirectory') })
  })
  afterAll(() => engine?.[Symbol.asyncDispose]())

  async function echoServer(): Promise<string[]> {
    const port = await lastingPort()
    return ['sh', '-c', `echo port ${port}; exec nc -ll -p ${port} -e cat`]
  }

  for (const network of ['host', 'none']) {
    const createFixture = async () => ({
      ...(await createContainerFixture(engine, { pull: 'never', network })),
      echoServer,
    })
    execConformance(`a container with network ${network}`, createFixture, missing)
  }
})
