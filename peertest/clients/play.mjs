// Plays the steps of a scenario (see ../doc.go) with a client of either SDK.
import { setTimeout as sleep } from 'node:timers/promises';

export async function play(steps, peer, { client, vars, note, seen }) {
  await run(steps);

  async function run(steps) {
    for (const step of steps) {
      if (step.only && !step.only.includes(client) || step.not?.includes(client)) continue;
      if (step.do === 'parallel') {
        // Recorded in the order of the scenario, whatever the order of the answers.
        const steps = step.steps.filter(s => !s.not?.includes(client));
        const lines = await Promise.all(steps.map(one));
        lines.forEach(note);
      } else {
        note(await one(step));
      }
    }
  }

  async function one(raw) {
    const step = fill(raw);
    const line = { kind: 'step', step: step.name ?? step.do, fails: step.fails };
    try {
      line.result = await perform(step);
    } catch (e) {
      if (e.peertest) throw e;
      line.error = { code: e.code, message: e.message, data: e.data };
    }
    return line;
  }

  async function perform(step) {
    const c = peer.client;
    switch (step.do) {
      case 'ping': return c.ping();
      case 'tools': return c.listTools();
      case 'call': return peer.call({ name: step.tool, arguments: step.args }, { timeout: 30000 });
      // The SDKs lose messages that are read together with the answer, and may call back out of
      // order. The recording shows which progress was sent, and in which order.
      case 'progress': return peer.call({ name: step.tool, arguments: step.args }, { timeout: 30000, onprogress() {} });
      case 'cancel': {
        const stop = new AbortController();
        setTimeout(() => stop.abort('enough'), step.after_ms);
        return peer.call({ name: step.tool, arguments: step.args }, { signal: stop.signal });
      }
      case 'task': return peer.task({ name: step.tool, arguments: step.args });
      case 'resources': return c.listResources();
      case 'templates': return c.listResourceTemplates();
      case 'read': return c.readResource({ uri: step.uri });
      case 'subscribe': return c.subscribeResource({ uri: step.uri });
      case 'unsubscribe': return c.unsubscribeResource({ uri: step.uri });
      case 'prompts': return c.listPrompts();
      case 'prompt': return c.getPrompt({ name: step.prompt, arguments: step.args });
      case 'complete': return c.complete({ ref: step.ref, argument: step.argument, context: step.context });
      case 'level': return c.setLoggingLevel(step.level);
      case 'listen': await peer.listen(step.filter); return {};
      case 'roots_changed': return c.sendRootsListChanged();
      case 'await': {
        const until = Date.now() + 20000;
        while (seen(step.method) < step.count) {
          if (Date.now() > until) {
            throw Object.assign(new Error(`waited for ${step.count} ${step.method}, saw ${seen(step.method)}`), { peertest: true });
          }
          await sleep(5);
        }
        return {};
      }
    }
    throw Object.assign(new Error(`unknown step ${step.do}`), { peertest: true });
  }

  // "${NAME}" in any string is replaced by the variable, "${big}" by one mebibyte of text.
  function fill(v) {
    if (typeof v === 'string') return v.replace(/\$\{(\w+)\}/g, (_, k) => (k === 'big' ? 'aé€🙂\n"\\'.repeat(65536) : vars[k]));
    if (Array.isArray(v)) return v.map(fill);
    if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, fill(x)]));
    return v;
  }
}
