"""Invented sentences and what they state: "status name" of every row, in the order of the text.

`@` a place, `[column: words]` an attribute, `<-` the position of what supports the row. Places and attributes
are compared where they are given only; "" after `->` states nothing.
"""

DENIALS = """
No pleural effusion. -> dn pleural effusion
No effusion, pneumothorax, or consolidation. -> dn pleural effusion; dn pneumothorax; dn consolidation
No effusion or pneumothorax is seen. -> dn pleural effusion; dn pneumothorax
There is no evidence of pneumonia or edema. -> dn pneumonia; dn pulmonary edema
There are no focal infiltrates, effusions, or suspicious nodules. -> dn infiltrate; dn pleural effusion; dn nodule
Negative for pneumothorax and effusion. -> dn pneumothorax; dn pleural effusion
Free of consolidation. -> dn consolidation
Without pneumothorax. -> dn pneumothorax
Neither effusion nor pneumothorax. -> dn pleural effusion; dn pneumothorax
Pneumothorax is absent. -> dn pneumothorax
Effusion is not seen. -> dn pleural effusion
Effusions and pneumothoraces are not identified. -> dn pleural effusion; dn pneumothorax
A pneumothorax is not currently visualized. -> dn pneumothorax
Consolidation, effusion and pneumothorax are absent. -> dn consolidation; dn pleural effusion; dn pneumothorax
The film does not show pneumonia. -> dn pneumonia
No opacity to suggest pneumonia. -> dn opacity; dn pneumonia
No opacity suggestive of pneumonia or edema. -> dn opacity; dn pneumonia; dn pulmonary edema
No acute rib fracture. -> dn fracture @rib [onset: acute]
No displaced fracture. -> dn fracture
No large effusion. -> dn pleural effusion [measurement: large]
No new consolidation. -> dn consolidation
Absence of pneumothorax. -> dn pneumothorax
The lungs are clear without effusion. -> dn lungs; dn pleural effusion
The lungs are clear of consolidation and edema. -> dn lungs; dn consolidation; dn pulmonary edema
The lungs are free of infiltrate. -> dn infiltrate @lungs
No pneumothorax, pleural effusion, nor pneumonia. -> dn pneumothorax; dn pleural effusion; dn pneumonia
No radiographic evidence of tuberculosis. -> dn tuberculosis
Lung fields: no consolidation. -> dn consolidation @Lung fields
No pneumothorax/effusion. -> dn pneumothorax; dn pleural effusion
no XXXX effusion -> dn pleural effusion
No acute cardiopulmonary process. -> dn acute cardiopulmonary abnormality
No active disease. -> dn acute cardiopulmonary abnormality
No pericardial effusion. -> dn pericardial effusion
There is no pneumothorax or large pleural effusion. -> dn pneumothorax; dn pleural effusion
No suspicious pulmonary opacity, effusion or definite pneumothorax. -> dn opacity; dn pleural effusion; dn pneumothorax
No evidence of acute fracture or dislocation. -> dn fracture; dn dislocation
No cardiomegaly. -> dn cardiomegaly
"""

DENIALS_END = """
No effusion, but there is mild edema. -> dn pleural effusion; dp pulmonary edema
No effusion but mild edema. -> dn pleural effusion; dp pulmonary edema
No pneumothorax, mild cardiomegaly. -> dn pneumothorax; dp cardiomegaly
No pneumothorax; small left effusion. -> dn pneumothorax; dp pleural effusion
No consolidation, however atelectasis is present. -> dn consolidation; dp atelectasis
No abnormality except a small effusion. -> dn abnormality; dp pleural effusion
No acute disease aside from mild atelectasis. -> dn acute cardiopulmonary abnormality; dp atelectasis
No acute process with the exception of a left effusion. -> dn acute cardiopulmonary abnormality; dp pleural effusion
No acute disease other than mild edema. -> dn acute cardiopulmonary abnormality; dp pulmonary edema
No effusion and the heart is enlarged. -> dn pleural effusion; dp heart
No effusion, and there is a right pneumothorax. -> dn pleural effusion; dp pneumothorax
No consolidation, stable cardiomegaly. -> dn consolidation; dp cardiomegaly
No pneumothorax with small effusions. -> dn pneumothorax; dp pleural effusion
No effusion, the heart is normal. -> dn pleural effusion; dn heart
No pneumothorax, normal heart size. -> dn pneumothorax; dn heart size
No edema although atelectasis is noted. -> dn pulmonary edema; dp atelectasis
No effusion, while a small pneumothorax remains. -> dn pleural effusion; dp pneumothorax
No effusion, lungs are hyperinflated. -> dn pleural effusion; dp hyperinflation
No pneumonia in the setting of copd. -> dn pneumonia; dp copd
There is cardiomegaly without edema. -> dp cardiomegaly; dn pulmonary edema
Atelectasis, no effusion. -> dp atelectasis; dn pleural effusion
Small effusion without pneumothorax. -> dp pleural effusion; dn pneumothorax
Emphysema with no consolidation. -> dp emphysema; dn consolidation
Cardiomegaly, no pneumothorax, mild atelectasis. -> dp cardiomegaly; dn pneumothorax; dp atelectasis
"""

CHANGE_DENIED = """
No change in the small left effusion. -> dp pleural effusion [no_change: No change in]
No significant interval change in left basilar atelectasis. -> dp atelectasis
The effusion is not significantly changed. -> dp pleural effusion [no_change: not significantly changed]
Cardiomegaly is unchanged. -> dp cardiomegaly [no_change: unchanged]
Stable edema. -> dp pulmonary edema [no_change: Stable]
No increase in the effusion. -> dp pleural effusion
Persistent consolidation. -> dp consolidation [no_change: Persistent]
Again seen is a right effusion. -> dp pleural effusion
No significant change. ->
The effusion is no longer seen. -> dn pleural effusion [improved: no longer seen]
The effusion has resolved. -> dn pleural effusion [improved: has resolved]
The previously seen effusion has resolved. -> dn pleural effusion
Resolved pneumothorax. -> dn pneumothorax
Interval resolution of the right effusion. -> dn pleural effusion
The consolidation has cleared. -> dn consolidation
The effusion has partially resolved. -> dp pleural effusion [improved: partially resolved]
The effusion has decreased in size. -> dp pleural effusion [improved: decreased in size]
Improved edema. -> dp pulmonary edema [improved: Improved]
Interval increase in effusion. -> dp pleural effusion [worsened: Interval increase in]
Worsening consolidation. -> dp consolidation [worsened: Worsening]
The chest tube has been removed. -> dn chest tube
The previously noted nodule is unchanged. -> dp nodule [no_change: unchanged]
Compared to the prior exam, the effusion has increased. -> dp pleural effusion
"""

HEDGES = """
Possible pneumonia. -> tp pneumonia
Possible pneumonia. Cardiomegaly. -> tp pneumonia; dp cardiomegaly
Probable left effusion, cardiomegaly. -> tp pleural effusion; dp cardiomegaly
Possible atelectasis and cardiomegaly. -> tp atelectasis; dp cardiomegaly
Likely atelectasis. -> tp atelectasis
Atelectasis is likely. -> tp atelectasis
Pneumonia is possible. -> tp pneumonia
Pneumonia cannot be excluded. -> tp pneumonia
Pneumonia or aspiration cannot be excluded. -> tp pneumonia; tp aspiration
Small effusion not entirely excluded. -> tp pleural effusion
Cannot exclude a small pneumothorax. -> tp pneumothorax
Difficult to exclude pneumonia. -> tp pneumonia
Left basilar opacity may represent atelectasis. -> dp opacity; tp atelectasis <-0
Opacity, likely atelectasis. -> dp opacity; tp atelectasis <-0
Opacity could represent atelectasis or pneumonia. -> dp opacity; tp atelectasis <-0; tp pneumonia <-0
Findings suggestive of edema and effusions. -> tp pulmonary edema; tp pleural effusion
Opacity concerning for pneumonia. -> dp opacity; tp pneumonia <-0
Hyperinflation consistent with emphysema. -> dp hyperinflation; tp emphysema <-0
Opacity compatible with pneumonia. -> dp opacity; tp pneumonia <-0
There may be a small effusion. -> tp pleural effusion
There may also be small effusions. -> tp pleural effusion
A small effusion may be present. -> tp pleural effusion
There appears to be a small effusion. -> tp pleural effusion
Questionable nodule. -> tp nodule
Question of pneumonia. -> tp pneumonia
Suspicious for malignancy. -> tp lung cancer
Small effusion, if any. -> tp pleural effusion
Mild edema, if present. -> tp pulmonary edema
Effusion and possible pneumonia. -> dp pleural effusion; tp pneumonia
Minimal questionable interstitial edema. -> tp pulmonary edema
Probable small effusions and minimal questionable edema. -> tp pleural effusion; tp pulmonary edema
The heart is possibly enlarged. -> tp heart
Underlying atelectasis is suspected. -> tp atelectasis
Effusion is probably present. -> tp pleural effusion
Atelectasis versus pneumonia. -> tp atelectasis; tp pneumonia
Atelectasis or pneumonia. -> tp atelectasis; tp pneumonia
Atelectasis and/or scarring. -> tp atelectasis; tp scarring
Either atelectasis or pneumonia. -> tp atelectasis; tp pneumonia
Atelectasis, scarring, or pneumonia. -> tp atelectasis; tp scarring; tp pneumonia
Atelectasis vs. consolidation at the left base. -> tp atelectasis @left base; tp consolidation @left base
Cardiomegaly with left atelectasis or pneumonia. -> dp cardiomegaly; tp atelectasis; tp pneumonia
Differential includes pneumonia and hemorrhage. -> tp pneumonia; tp hemorrhage
Opacity thought to be scarring. -> dp opacity; tp scarring
Edema is favored. -> tp pulmonary edema
Consistent with history of COPD. -> tp copd
There is a fracture, likely old. -> dp fracture
Opacity represents atelectasis. -> dp opacity; dp atelectasis <-0
Volume loss due to atelectasis. -> dp volume loss; dp atelectasis <-0
Opacity at the base, pneumonia cannot be excluded. -> dp opacity; tp pneumonia
"""

DOUBTS = """
Pneumonia is unlikely. -> tn pneumonia
Unlikely pneumonia. -> tn pneumonia
Atelectasis rather than pneumonia. -> dp atelectasis; tn pneumonia
Atelectasis, less likely pneumonia. -> dp atelectasis; tn pneumonia
Likely atelectasis, less likely pneumonia. -> tp atelectasis; tn pneumonia
Opacity likely reflects atelectasis rather than pneumonia. -> dp opacity; tp atelectasis; tn pneumonia
No definite effusion. -> tn pleural effusion
No definite pneumothorax or effusion. -> tn pneumothorax; tn pleural effusion
No convincing evidence of pneumonia. -> tn pneumonia
Without definite consolidation. -> tn consolidation
Pneumonia is felt unlikely. -> tn pneumonia
Pneumonia is less likely. -> tn pneumonia
Effusion is not definitely seen. -> tn pleural effusion
"""

ANATOMY = """
The lungs are clear. -> dn lungs [morphology: clear]
Lungs are clear bilaterally. -> dn lungs
Clear lungs. -> dn lungs
Lungs clear. -> dn lungs
Heart size is normal. -> dn heart size [measurement: normal]
Heart size normal. -> dn heart size
Normal heart size. -> dn heart size [measurement: Normal]
The heart is normal in size. -> dn heart [measurement: normal in size]
The heart is within normal limits. -> dn heart
Heart size and mediastinal contours are normal. -> dn heart size; dn mediastinal contour
The heart, mediastinum, and lungs are normal. -> dn heart; dn mediastinum; dn lungs
Heart size and pulmonary vascularity within normal limits. -> dn heart size; dn pulmonary vascularity
Normal heart size and mediastinal contours. -> dn heart size; dn mediastinal contour
Heart size is normal and the lungs are clear. -> dn heart size; dn lungs
The heart is enlarged. -> dp heart [measurement: enlarged]
The heart is mildly enlarged. -> dp heart [severity: mildly]
Mildly enlarged cardiac silhouette. -> dp cardiac silhouette [measurement: enlarged]
Cardiac silhouette is prominent. -> dp cardiac silhouette
Enlarged heart. -> dp cardiomegaly
Enlargement of the cardiac silhouette. -> dp cardiomegaly
The heart is not enlarged. -> dn heart
Borderline heart size. -> dp cardiomegaly
The cardiomediastinal silhouette is unremarkable. -> dn cardiomediastinal silhouette
Cardiac and mediastinal contours are normal. -> dn cardiomediastinal silhouette
Stable cardiomediastinal silhouette. -> dn cardiomediastinal silhouette [no_change: Stable]
The aorta is tortuous. -> dp aorta [morphology: tortuous]
Tortuous aorta. -> dp aorta
The trachea is midline. -> dn trachea
Osseous structures are intact. -> dn bones
Bony thorax and soft tissues are unremarkable. -> dn bones; dn soft tissues
The right hemidiaphragm is elevated. -> dp diaphragm @right [measurement: elevated]
Costophrenic angles are sharp. -> dn costophrenic angle
Blunted right costophrenic angle. -> dp costophrenic angle @right [morphology: Blunted]
The lungs are hyperexpanded. -> dp hyperinflation @lungs
The lungs are emphysematous. -> dp emphysema @lungs
The lungs are hyperinflated but clear. -> dp hyperinflation; dn lungs
Heart: normal. Lungs: clear. -> dn heart; dn lungs
Pulmonary vascularity is increased. -> dp pulmonary vascularity [measurement: increased]
Stable heart size, enlarged and tortuous aorta. -> dn heart size; dp aorta
The lungs are normally inflated without consolidation. -> dn lungs; dn consolidation
Normal chest. -> dn chest
The mediastinum is widened. -> dp mediastinum [measurement: widened]
Heart size is normal in appearance. -> dn heart size
The heart is at the upper limits of normal in size. -> dn heart
"""

PLACES = """
Small left pleural effusion. -> dp pleural effusion @left [measurement: Small]
Opacities in the left base and right apex. -> dp opacity @left base; dp opacity @right apex
Left lower lobe consolidation. -> dp consolidation @Left lower lobe
Consolidation in the right upper lobe. -> dp consolidation @right upper lobe
Bibasilar atelectasis. -> dp atelectasis @Bibasilar
Bilateral effusions. -> dp pleural effusion @Bilateral
Left and right basilar opacities. -> dp opacity @right basilar; dp opacity @Left, basilar
Nodule in the apex of the left lung. -> dp nodule @apex, left lung
In the left base, there is an opacity. -> dp opacity @left base
Right upper lobe: nodule. -> dp nodule @Right upper lobe
Atelectasis at the left base and a right effusion. -> dp atelectasis @left base; dp pleural effusion @right
Old fracture of the left clavicle. -> dp fracture @left clavicle [onset: Old]
Compression fracture of T12. -> dp fracture @T12
Right rib fractures. -> dp fracture @Right rib
Degenerative changes of the thoracic spine. -> dp degenerative changes @thoracic spine
Calcified granuloma in the RUL. -> dp granuloma @RUL
Catheter fracture. -> dp fracture @Catheter
Right pneumothorax, left effusion. -> dp pneumothorax @Right; dp pleural effusion @left
RLL pneumonia. -> dp pneumonia @RLL
"""

ATTRIBUTES = """
5 mm nodule in the left apex. -> dp nodule @left apex [measurement: 5 mm]
A nodule measures 2.3 x 1.4 cm. -> dp nodule [measurement: 2.3 x 1.4 cm]
Patchy opacities. -> dp opacity [morphology: Patchy]
Diffuse hazy opacity. -> dp opacity [distribution: Diffuse, hazy]
Moderate to severe emphysema. -> dp emphysema [severity: Moderate to severe]
Chronic rib fractures. -> dp fracture [onset: Chronic]
New consolidation. -> dp consolidation [onset: New]
Small, stable effusion. -> dp pleural effusion [measurement: Small]
The effusion is small and unchanged. -> dp pleural effusion [measurement: small]
Effusion, unchanged. -> dp pleural effusion [no_change: unchanged]
Multiple calcified nodules. -> dp calcified nodule [measurement: Multiple]
Effusions, greater on the right. -> dp pleural effusion [comparison: greater on the right]
Nodule seen on prior CT. -> dp nodule [other_source: on prior CT]
"""

DEVICES = """
ET tube in expected position. -> dp endotracheal tube [placement: in expected position]
The endotracheal tube is 4 cm above the carina. -> dp endotracheal tube @carina [measurement: 4 cm]
Right PICC with tip in the SVC. -> dp picc @Right, SVC
NG tube has been removed. -> dn nasogastric tube
Median sternotomy wires are intact. -> dp sternotomy wires
Left pacemaker is in place. -> dp pacemaker @Left
No pacemaker. -> dn pacemaker
Interval removal of the chest tube, no pneumothorax. -> dn chest tube; dn pneumothorax
Status post CABG. -> dp coronary artery bypass graft [past_hx: Status post]
"""

ASIDES = """
Recommend CT to exclude malignancy. ->
CT of the chest is recommended to exclude malignancy. ->
Follow-up to resolution is advised. ->
If there is concern for pneumonia, a CT may be helpful. ->
Left effusion; recommend follow-up to exclude pneumonia. -> dp pleural effusion
Opacity in the left base, recommend follow-up. -> dp opacity
Mother had tuberculosis. ->
Correlate for signs of pneumonia. ->
Nodule in the left base, CT is recommended for further evaluation. -> dp nodule
Dr. Smith was notified at 3 pm. ->
Two views of the chest. ->
Comparison: none. ->
"""

HISTORY = """
Cough. -> dp cough
Cough and fever. -> dp cough; dp fever
Cough, rule out pneumonia. -> dp cough; tp pneumonia
Evaluate for pneumonia. -> tp pneumonia
r/o effusion -> tp pleural effusion
?pneumonia -> tp pneumonia
History of COPD. -> dp copd [past_hx: History of]
h/o lung cancer -> dp lung cancer [past_hx: h/o]
Concern for pneumothorax. -> tp pneumothorax
55 year old man with chest pain. -> dp chest pain
Denies cough. -> dn cough
SOB -> dp dyspnea
Family history of tuberculosis. ->
Status post left lobectomy. -> dp lobectomy
No fever. -> dn fever
"""

SPELLINGS = """
Pulmonary oedema. -> dp pulmonary edema
Bilat effusions. -> dp pleural effusion
Left ptx. -> dp pneumothorax
CHF. -> dp congestive heart failure
No atalectasis. -> dn atelectasis
Cardiomegally. -> dp cardiomegaly
Haemothorax. -> dp hemothorax
Rt pna. -> dp pneumonia
1. Mild cardiomegaly. -> dp cardiomegaly
2) No effusion. -> dn pleural effusion
COPD exacerbation. -> dp copd
TB. -> dp tuberculosis
Ground-glass opacities. -> dp ground-glass opacity
Subcutaneous emphysema. -> dp subcutaneous emphysema
NO PNEUMOTHORAX OR EFFUSION. -> dn pneumothorax; dn pleural effusion
"""
