// validate.mjs MODULES FILE...: each document of YAML against the schema that Kubernetes' API has for its kind (of the npm
// packages kubernetes-models and js-yaml below MODULES); of kinds that an operator adds (PyTorchJob, Volcano's Job) every pod
// template in them. Prints what does not fit and each document's kind; ends with 1 when something did not.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(`${process.argv[2]}/x.js`);
const yaml = require('js-yaml');
let failed = false;
const fail = (what) => { failed = true; console.log(`FAILED: ${what}`); };

// The class of a kind: its group's folder has the name of the group without ".k8s.io" or with it.
function modelOf(apiVersion, kind) {
  const path = apiVersion.includes('/') ? apiVersion : `${apiVersion}`;
  try {
    return require(`kubernetes-models/${path}`)[kind];
  } catch {
    return undefined;
  }
}

function validate(where, object) {
  const model = modelOf(object.apiVersion, object.kind);
  if (!model) return false;
  try {
    new model(object).validate();
  } catch (error) {
    fail(`${where}: ${object.kind} ${object.metadata?.name}: ${error.message}`);
  }
  return true;
}

// Everything that looks like a pod template, as the template of a Deployment.
function* templates(value) {
  if (value === null || typeof value !== 'object') return;
  if (value.template?.spec?.containers) yield value.template;
  for (const one of Object.values(value)) yield* templates(one);
}

for (const file of process.argv.slice(3)) {
  for (const object of yaml.loadAll(readFileSync(file, 'utf8'))) {
    if (!object) continue;
    if (!object.apiVersion || !object.kind) { fail(`${file}: no apiVersion and kind`); continue; }
    if (validate(file, object)) { console.log(`${file}: ${object.kind}`); continue; }
    const found = [...templates(object)];
    if (found.length === 0) fail(`${file}: ${object.kind} of ${object.apiVersion} is no kind of the API, and holds no pod template`);
    for (const template of found) {
      const labels = { ...(template.metadata?.labels ?? {}), app: 'x' };
      validate(file, { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: object.metadata.name },
        spec: { selector: { matchLabels: { app: 'x' } }, template: { ...template, metadata: { ...template.metadata, labels } } } });
    }
    console.log(`${file}: ${object.kind}: ${found.length} pod templates`);
  }
}
process.exit(failed ? 1 : 0);
