import { lastingPort } from '../../support/agents/lasting-port.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { whyNoEngine } from '../../support/containers/engines.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { createContainerFixture } from './container-fixture.ts'
import { execConformance } from './exec-conformance.ts'

describeEngines('containers of %s', (name) => {
  const missing = whyNoEngine(name)

  async function echoServer(): Promise<string[]> {
    const port = await lastingPort()
    return ['sh', '-c', `echo port ${port}; exec nc -ll -p ${port} -e cat`]
  }

  for (const network of ['host', 'none']) {
    const createFixture = async () => ({
      ...(await createContainerFixture(await sharedEngine(name), { pull: 'never', network })),
      echoServer,
    })
    execConformance(`a container with network ${network}`, createFixture, missing)
  }
})
